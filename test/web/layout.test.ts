/**
 * Where things are, measured and not looked at: at 1600, 1280 and 1000 px, at 200 % zoom, in both themes. Stored
 * pictures would be of one Chromium with the fonts of one machine, and of times that differ in every run; boxes hold
 * everywhere, and say what is wrong. That the waterfall has its colours is read from its pixels.
 */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { createPageWorld } from '../helpers/page-world.js'
import type { PageWorld } from '../helpers/page-world.js'
import { isLive, isWhole, look, openBrowser } from './browser.js'

let browser: Browser
let world: PageWorld
beforeAll(async () => {
  browser = await openBrowser()
  world = await createPageWorld('Paid.')
  await world.waits('one', 'twice')
})
afterAll(async () => {
  await browser.close()
  await world.close()
})
afterEach(async () => {
  for (const context of browser.contexts()) await context.close()
})

const places = ['trees', 'trees/one', 'inbox', 'threads/one']
const more = ['steps', 'files', 'effects', 'state', 'env', 'records'].map((tab) => `threads/one/${tab}`)
const rest = ['effects', 'hosts', 'agents', 'threads/none']
const shown =
  '.tree-row, .table-row, .decision, .message, .card, .statechart, .files, .problem, .empty, .record-line, table, form'

/** Parts of one bar that lie on each other, what is wider than the window, and what is too small to be hit. */
const faultsScript = `(() => {
  const faults = []
  const root = document.scrollingElement
  if (root.scrollWidth > innerWidth) faults.push('the page scrolls sideways: ' + root.scrollWidth)
  const boxOf = (element) => element.getBoundingClientRect()
  const isSeen = (element) => { const { width, height, left } = boxOf(element); return width > 1 && height > 1 && left >= 0 }
  const nameOf = (element) => element.tagName + '.' + element.className + ' ' + element.textContent.slice(0, 20)
  for (const bar of document.querySelectorAll('.top, .bar, .tabs, .actions, .composer, .controls')) {
    const parts = [...bar.children].filter(isSeen)
    for (const [at, one] of parts.entries())
      for (const other of parts.slice(at + 1)) {
        const [a, b] = [boxOf(one), boxOf(other)]
        if (a.left + 1 < b.right && b.left + 1 < a.right && a.top + 1 < b.bottom && b.top + 1 < a.bottom)
          faults.push(nameOf(one) + ' lies on ' + nameOf(other))
      }
    const edge = boxOf(bar)
    for (const part of parts) if (boxOf(part).right > edge.right + 1) faults.push(nameOf(part) + ' leaves its bar')
  }
  for (const target of document.querySelectorAll('main button, .top button, .top nav a, .chip, [role=tab]')) {
    if (!isSeen(target)) continue
    const { width, height } = boxOf(target)
    if (height < 23.5 || width < 23.5) faults.push(nameOf(target) + ' is ' + Math.round(width) + ' × ' + Math.round(height))
  }
  return faults
})()`

async function faultsAt(page: Page, width: number): Promise<readonly string[]> {
  const found: string[] = []
  for (const place of isWhole ? [...places, ...more, ...rest] : places) {
    await page.goto(`${world.server.url}/ui/${place}`)
    await isLive(page)
    await page.waitForSelector(shown)
    found.push(...(await page.evaluate<string[]>(faultsScript)).map((fault) => `${width} ${place}: ${fault}`))
  }
  return found
}

/** 640: a window of 1280 at 200 %. */
const widths = isWhole ? [1600, 1280, 1000, 640] : [1000]

it.each(widths)('V3: nothing lies on another thing or leaves the window of %i px', async (width) => {
  const { page } = await look(browser, `${world.server.url}/ui/`, { viewport: { width, height: 800 } })
  expect(await faultsAt(page, width)).toEqual([])
})

it('V3: columns of a tree stand below their names, to the pixel, and the waterfall has its colours', async () => {
  for (const colorScheme of isWhole ? (['light', 'dark'] as const) : (['dark'] as const)) {
    const { page } = await look(browser, `${world.server.url}/ui/trees/one`, { colorScheme })
    await isLive(page)
    await page.waitForSelector('.tree-row >> text=clerk')
    const lefts = (selector: string): Promise<number[]> =>
      page.evaluate<number[]>(
        `[...document.querySelectorAll('${selector} > span')].slice(0, 4).map((each) => each.getBoundingClientRect().left)`,
      )
    expect(await lefts('.tree-row:first-child')).toEqual(await lefts('.tree-head'))
    const edges = await page.evaluate<number[]>(
      `[document.querySelector('canvas').getBoundingClientRect().left, document.querySelector('.tree-row:first-child > span:nth-child(4)').getBoundingClientRect().right]`,
    )
    expect(edges[0]).toBeCloseTo(edges[1] ?? 0, 0)
    const found = await page.evaluate<readonly string[]>(coloursScript)
    expect(found).toEqual(['model', 'person', 'queue'])
  }
})

/** Which of the colours that mean something are in the picture. */
const coloursScript = `(() => {
  const canvas = document.querySelector('canvas')
  const context = canvas.getContext('2d')
  const { data } = context.getImageData(0, 24, canvas.width, canvas.height - 24)
  const seen = new Set()
  for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 250) seen.add(data[at] + ',' + data[at + 1] + ',' + data[at + 2])
  const probe = document.createElement('canvas').getContext('2d')
  const style = getComputedStyle(canvas)
  return ['model', 'person', 'queue'].filter((name) => {
    probe.fillStyle = style.getPropertyValue('--draw-' + name).trim()
    probe.fillRect(0, 0, 1, 1)
    const [red, green, blue] = probe.getImageData(0, 0, 1, 1).data
    return [...seen].some((each) => { const [r, g, b] = each.split(',').map(Number); return Math.abs(r - red) + Math.abs(g - green) + Math.abs(b - blue) < 40 })
  })
})()`
