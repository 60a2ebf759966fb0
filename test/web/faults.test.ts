/**
 * Faults between a page and its server. After each of them the page knows what the server knows, and while it lasts it
 * says so. `npm run test:web` plays all of them, the test command the quick ones.
 */
import { expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { memory } from '../../src/index.js'
import { createPageWorld } from '../helpers/page-world.js'
import type { PageWorld } from '../helpers/page-world.js'
import { browser, isLive, isWhole, look, untilEqual, useBrowser } from './browser.js'
import { createFaultProxy } from './fault-proxy.js'
import type { Fault, FaultProxy } from './fault-proxy.js'

const closing = useBrowser()

const options = { heartbeatMs: 200 }

async function open(): Promise<{ world: PageWorld; proxy: FaultProxy }> {
  const world = await createPageWorld('Paid.', options)
  const proxy = await createFaultProxy(world.server.url)
  closing.push(
    () => world.close(),
    () => proxy.close(),
  )
  return { world, proxy }
}

const said = async (world: PageWorld, text: string): Promise<void> => {
  await (await world.skein.threads.get('one')).send(text).accepted()
}

/** While it lasts the page says that it is not live, its clocks stand, and nothing can be sent. */
async function expectStale(page: Page, words: string): Promise<void> {
  await page.waitForSelector(`.link-badge.stale:has-text("${words}")`)
  expect(await page.textContent('.link-badge')).toMatch(/^Not live · as of \d\d:\d\d:\d\d/)
  expect(await page.locator('.page.stale').count()).toBe(1)
  const clock = await page.evaluate<readonly number[]>(
    `new Promise((resolve) => { const first = skeinPage.now(); requestAnimationFrame(() => setTimeout(() => resolve([first, skeinPage.now()]), 50)) })`,
  )
  expect(clock[0]).toBe(clock[1])
}

const broken: readonly (readonly [Fault, string])[] = [
  ['freeze', 'silent'],
  [503, 'answers 503'],
  ['gone', ''],
  [401, 'the server wants a key'],
  [403, 'answers 403'],
]

it('V2: after a fault that is seen, the page knows what the server knows', async () => {
  const { world, proxy } = await open()
  await world.waits('one')
  const { page, faults } = await look(browser, `${proxy.url}/ui/trees/one`)
  await isLive(page)
  await untilEqual(page, world.server.url, 'one')
  for (const [fault, words] of isWhole ? broken : broken.slice(0, 2)) {
    proxy.play(fault)
    await said(world, `meanwhile: ${fault}`)
    await expectStale(page, words)
    proxy.play('none')
    // A stream that stands still is left by the page itself.
    await isLive(page)
    await untilEqual(page, world.server.url, 'one')
  }
  expect(faults).toEqual([])
})

it('V2: bytes that come one by one, and what is told twice, change nothing', async () => {
  const { world, proxy } = await open()
  await world.waits('one')
  for (const fault of ['bytes', 'twice'] as const) {
    proxy.play(fault)
    const { page, faults } = await look(browser, `${proxy.url}/ui/trees/one`)
    await isLive(page)
    await said(world, `meanwhile: ${fault}`)
    await untilEqual(page, world.server.url, 'one')
    expect(await page.locator('.tree-row').count()).toBe(4)
    expect(faults).toEqual([])
    await page.context().close()
  }
})

it('V2: another server takes over: numbers begin anew, and the page reads what it does not know', async () => {
  const backend = memory()
  const first = await createPageWorld('Paid.', options, backend)
  const proxy = await createFaultProxy(first.server.url)
  closing.push(() => proxy.close())
  await first.waits('one')
  const { page, faults } = await look(browser, `${proxy.url}/ui/trees/one`)
  await isLive(page)
  await untilEqual(page, first.server.url, 'one')
  const epoch = await page.evaluate<string>(`skeinPage.epochOf('one')`)
  proxy.play('gone')
  await first.close()
  const second = await createPageWorld('Paid.', options, backend)
  closing.push(() => second.close())
  await said(second, 'to the other one')
  proxy.lead(second.server.url)
  proxy.play('none')
  await isLive(page)
  await untilEqual(page, second.server.url, 'one')
  expect(await page.evaluate<string>(`skeinPage.epochOf('one')`)).not.toBe(epoch)
  expect(faults).toEqual([])
})

const hourMs = 3_600_000

it('V2: a clock of the browser that is wrong changes no time that is shown', async () => {
  const world = await createPageWorld('Paid.')
  closing.push(() => world.close())
  await world.waits('one')
  const context = await browser.newContext()
  for (const wrongMs of isWhole ? [hourMs, -hourMs] : [hourMs]) {
    const page = await context.newPage()
    await page.addInitScript(`{ const now = Date.now; Date.now = () => now() + ${wrongMs} }`)
    await page.goto(`${world.server.url}/ui/trees/one`)
    await isLive(page)
    await page.waitForSelector('.tree-row >> text=clerk')
    const shown = await page.evaluate<number>('skeinPage.now()')
    expect(Math.abs(shown - Date.now())).toBeLessThan(hourMs / 2)
    expect(await page.textContent('.tree-row .right')).not.toMatch(/h|–/)
    await page.close()
  }
})

it('V2: twelve tabs of a browser are live on one connection', async () => {
  const { world, proxy } = await open()
  await world.waits('one')
  const context = await browser.newContext()
  const tabs = await Promise.all(Array.from({ length: isWhole ? 12 : 7 }, () => context.newPage()))
  await Promise.all(tabs.map((tab) => tab.goto(`${proxy.url}/ui/trees/one`)))
  await Promise.all(tabs.map(isLive))
  await said(world, 'for all')
  for (const tab of tabs) await untilEqual(tab, world.server.url, 'one')
  await expect.poll(() => proxy.streams).toBe(1)
  // A tab that has gone takes its wishes with it, and the others stay live.
  await tabs.shift()?.close()
  await said(world, 'for those who stayed')
  for (const tab of tabs) await untilEqual(tab, world.server.url, 'one')
})

it('V2: a page that is older than its server says so', async () => {
  const { world, proxy } = await open()
  const { page } = await look(browser, `${proxy.url}/ui/trees`)
  await isLive(page)
  expect(await page.locator('.outdated').count()).toBe(0)
  await page.route('**/view/session', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...Object(await response.json()), build: 'index-other.js' } })
  })
  proxy.cut()
  await page.waitForSelector('.outdated')
  expect(await page.textContent('.outdated')).toContain('new version')
  expect(world.paid).toEqual([])
})
