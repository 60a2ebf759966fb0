/**
 * Everybody reaches everything: axe on every place, in light, dark and forced colours, live, not live, empty and with an
 * error (`npm run test:web`; the test command looks at the places that people use most).
 */
import axe from 'axe-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { createPageWorld } from '../helpers/page-world.js'
import type { PageWorld } from '../helpers/page-world.js'
import { isLive, isWhole, look, openBrowser } from './browser.js'
import { createFaultProxy } from './fault-proxy.js'
import type { FaultProxy } from './fault-proxy.js'

let browser: Browser
let world: PageWorld
let proxy: FaultProxy | undefined
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(async () => browser.close())
afterEach(async () => {
  for (const context of browser.contexts()) await context.close()
  await proxy?.close()
  await world.close()
})

async function faultsOf(page: Page, where: string): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const found = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    `axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] })`,
  )
  return found.violations.map(({ id, nodes }) => `${where}: ${id}: ${nodes[0]?.html.slice(0, 200)}`)
}

const places = ['trees', 'trees/one', 'inbox', 'threads/one']
const more = ['steps', 'files', 'effects', 'state', 'env', 'records'].map((tab) => `threads/one/${tab}`)
const rest = ['effects', 'hosts', 'agents', 'none', 'threads/none', 'trees/none']
const shown =
  '.tree-row, .table-row, .decision, .message, .card, .statechart, .files, .problem, .empty, .record-line, table, form'

const themes: readonly (readonly [string, BrowserContextOptions])[] = [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['forced colours', { forcedColors: 'active' }],
]

async function inState(theme: BrowserContextOptions, state: 'live' | 'stale' | 'empty'): Promise<readonly string[]> {
  world = await createPageWorld('Paid.')
  if (state !== 'empty') await world.waits('one')
  const found: string[] = []
  proxy = await createFaultProxy(world.server.url)
  const { page } = await look(browser, `${proxy.url}/ui/`, { ...theme, bypassCSP: true })
  const some = state === 'empty' ? ['trees', 'inbox'] : places
  for (const place of isWhole ? [...places, ...more, ...rest] : some) {
    await page.goto(`${proxy.url}/ui/${place}`)
    await isLive(page)
    await page.waitForSelector(shown)
    if (state === 'stale') {
      proxy.play(503)
      await page.waitForSelector('.page.stale')
    }
    found.push(...(await faultsOf(page, `${state} ${place}`)))
    proxy.play('none')
  }
  return found
}

const states = isWhole ? (['live', 'stale', 'empty'] as const) : (['live', 'stale'] as const)
const cases = themes.flatMap(([name, theme]) => states.map((state) => [name, state, theme] as const))
// Most of what one theme shows wrongly the other one does, too.
const some = cases.filter(([name, state]) => `${name} ${state}` === 'light live' || `${name} ${state}` === 'dark stale')

it.each(isWhole ? cases : some)('V3: axe finds no fault in %s, %s', async (_name, state, theme) => {
  expect(await inState(theme, state)).toEqual([])
})

it('V3: a row of the tree is told to who does not see it, and keys keep the focus', async () => {
  world = await createPageWorld('Paid.')
  await world.waits('one')
  const { page } = await look(browser, `${world.server.url}/ui/trees/one`)
  await isLive(page)
  const row = page.getByRole('row', { name: /planner-1/ })
  expect(await row.getAttribute('aria-level')).toBe('2')
  expect(await row.getAttribute('aria-expanded')).toBe('true')
  const grid = page.getByRole('treegrid', { name: 'Threads of the tree' })
  expect(await grid.getAttribute('aria-rowcount')).toBe('4')
  await grid.focus()
  await page.keyboard.press('ArrowDown')
  await page.waitForSelector('.tree-row.selected >> text=planner-1')
  const active = await grid.getAttribute('aria-activedescendant')
  expect(await page.locator(`[id="${active}"]`).getAttribute('aria-selected')).toBe('true')
  await (await world.skein.threads.get('one')).send('more').accepted()
  expect(await grid.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
})
