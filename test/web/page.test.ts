/**
 * The page in a real browser: what it knows is what the server knows, also after a cut; decisions by mouse and by
 * keyboard; hostile text; below a path.
 */
import { expect, it } from 'vitest'
import { createPageWorld } from '../helpers/page-world.js'
import type { PageWorld } from '../helpers/page-world.js'
import { browser, isLive, isWhole, look, untilEqual, useBrowser } from './browser.js'
import { createTcpProxy } from '../helpers/tcp-proxy.js'

const closing = useBrowser()

async function open(says = 'Paid.', options: Parameters<typeof createPageWorld>[1] = {}): Promise<PageWorld> {
  const world = await createPageWorld(says, options)
  closing.push(() => world.close())
  return world
}

it('V2: a cut is told at once, clocks and actions stop, and after it the page knows what the server knows', async () => {
  const world = await open()
  const item = await world.waits('one')
  const proxy = await createTcpProxy(Number(new URL(world.server.url).port))
  closing.push(() => proxy.close())
  const near = `http://127.0.0.1:${proxy.port}`
  const { page, faults } = await look(browser, `${near}/ui/trees/one`)
  await isLive(page)
  await untilEqual(page, world.server.url, 'one')
  expect(await page.locator('.tree-row').count()).toBe(4)
  await page.goto(`${near}/ui/inbox`)
  await page.waitForSelector('.decision')
  proxy.cut()
  await page.waitForSelector('.link-badge.stale')
  expect(await page.textContent('.link-badge')).toMatch(/^Not live · as of \d\d:\d\d:\d\d/)
  expect(await page.isDisabled('.action.primary')).toBe(true)
  expect(await page.textContent('.blocked')).toContain('Not live')
  await world.skein.inbox.approve(item)
  await world.waits('two')
  proxy.mend()
  await isLive(page)
  await page.waitForSelector('.crumbs a[href$="/two"]')
  await page.goto(`${near}/ui/trees/one`)
  await isLive(page)
  await untilEqual(page, world.server.url, 'one')
  expect(faults).toEqual([])
})

it('V2, A4: a decision four levels down, by mouse, with other args, and its way is told', async () => {
  const world = await open()
  await world.waits('one')
  const { page, faults } = await look(browser, `${world.server.url}/ui/`)
  await page.click('text=Inbox')
  await page.waitForSelector('.decision')
  expect(await page.locator('.crumbs a').allTextContents()).toHaveLength(4)
  await page.click('text=Edit args')
  await page.fill('textarea.code', '{ "to": "printer", "euros": 150 }')
  expect(await page.textContent('.diff .added')).toContain('150')
  await page.click('text=Approve with these args')
  await page.waitForSelector('.decided .tone-ok')
  expect(await page.textContent('.decided')).toContain('Recorded: approved with other args')
  expect(world.paid).toEqual([{ to: 'printer', euros: 150 }])
  expect(await page.textContent('.empty')).toContain('Nothing waits for you')
  expect(faults).toEqual([])
})

it('V2, V3: the same by keyboard alone; who is second is told so, and nothing runs twice', async () => {
  const world = await open()
  const item = await world.waits('one')
  const { page } = await look(browser, `${world.server.url}/ui/trees/one`)
  await isLive(page)
  await page.keyboard.press('w')
  await page.waitForSelector('.tree-row.selected >> text=clerk-1')
  await page.keyboard.press('g')
  await page.keyboard.press('i')
  await page.waitForSelector('.decision')
  await page.keyboard.press('a')
  await page.waitForSelector('.confirm .primary:focus')
  // Nothing has happened by one key alone.
  expect(world.paid).toEqual([])
  await page.keyboard.press('Enter')
  await page.waitForSelector('.decided .tone-ok')
  expect(world.paid).toEqual([{ to: 'printer', euros: 2_000 }])
  const again = await fetch(`${world.server.url}/inbox/${item}/approve`, { method: 'POST' })
  expect(again.status).toBe(409)
  expect(world.paid).toHaveLength(1)
})

const corpus = [
  '<img src=x onerror=alert(1)><script>alert(2)</script>',
  '[a](javascript:alert(3)) ![b](http://192.0.2.1/leak.png) <svg onload=alert(4)>',
  '\u202Egnp.exe\u202C \u001B[31mred\u001B[0m \uD800 ` ${alert(5)} `',
  '<iframe src="http://192.0.2.1/"></iframe><style>@import "http://192.0.2.1/a.css"</style>',
  '[c]: javascript:alert(6)\n\n[c] <a href="data:text/html,<script>alert(7)</script>">d</a>',
  `${'> '.repeat(200)}deep ${'*'.repeat(400)}`,
].join('\n\n')

it('V1: text of models and tools is text, and asks for nothing', async () => {
  const world = await open(corpus)
  const item = await world.waits('one')
  await world.skein.inbox.reject(item, { comment: corpus.slice(0, 1_000) })
  const thread = await world.skein.threads.get('one')
  await thread.send(corpus).result()
  const { page, faults } = await look(browser, `${world.server.url}/ui/threads/one`)
  await page.waitForSelector('.message.assistant .markdown >> text=onerror')
  const text = (await page.textContent('.chat-box')) ?? ''
  expect(text).toContain('<img src=x onerror=alert(1)>')
  expect(text).not.toContain('\u001B')
  expect(await page.locator('.chat-box img, .chat-box iframe, .chat-box script, .chat-box svg').count()).toBe(0)
  expect(await page.locator('.chat-box a[href^="javascript"], .chat-box a[href^="data"]').count()).toBe(0)
  await page.goto(`${world.server.url}/ui/trees/one`)
  await page.waitForSelector('.tree-row')
  expect(faults).toEqual([])
})

it('V1: the page works below a path, and asks nobody else for anything', async () => {
  for (const basePath of isWhole ? ['/x/y', '/ui'] : ['/x/y']) {
    const world = await open('done', { basePath })
    await world.waits('one')
    for (const path of ['/ui', '/ui/threads/one/steps']) {
      const { page, faults } = await look(browser, `${world.server.url}${path}`)
      await isLive(page)
      await page.waitForSelector('.table-row, .tree-row, .steps, .problem')
      expect(new URL(page.url()).pathname).toBe(`${basePath}${path}`)
      expect(faults).toEqual([])
    }
  }
})
