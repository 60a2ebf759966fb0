/** A person at a page: by mouse, or by keyboard alone. */
import type { Page } from 'playwright-core'

export type Way = 'mouse' | 'keys'

export interface Person {
  press(selector: string): Promise<void>
  type(selector: string, text: string): Promise<void>
}

const mostTabs = 120

/** Goes from element to element, as someone without a mouse does, until it is there. */
async function tabTo(page: Page, selector: string): Promise<void> {
  const target = page.locator(selector).first()
  await target.waitFor()
  for (let tabs = 0; tabs < mostTabs; tabs++) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`${selector} is not reached by ${mostTabs} tabs`)
}

export function personAt(page: Page, way: Way): Person {
  if (way === 'mouse')
    return {
      press: (selector) => page.locator(selector).first().click(),
      type: (selector, text) => page.locator(selector).first().fill(text),
    }
  return {
    async press(selector) {
      await tabTo(page, selector)
      const isOption = await page
        .locator(selector)
        .first()
        .evaluate((element) => element.matches('input'))
      await page.keyboard.press(isOption ? 'Space' : 'Enter')
    },
    async type(selector, text) {
      await tabTo(page, selector)
      await page.keyboard.type(text)
    },
  }
}
