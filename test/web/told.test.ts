/** What the page tells of time travel and of keys: what is undone, what differs, what is a fork, which key is wrong. */
import { expect, it } from 'vitest'
import { createSkein, memory } from '../../src/index.js'
import type { Skein } from '../../src/index.js'
import { serve } from '../../src/server.js'
import type { HandlerOptions } from '../../src/server.js'
import { calls, looseTool, tinyApp } from '../helpers/app.js'
import { keyAuth, keys } from '../helpers/served.js'
import { browser, isLive, look, useBrowser } from './browser.js'

const closing = useBrowser()

/** Every message but "hello" makes it pay as many euros as the message says. */
async function open(options: Partial<HandlerOptions> = {}): Promise<{ readonly skein: Skein; readonly url: string }> {
  const pay = looseTool('pay', () => 'paid', { needsApproval: true })
  const { app } = tinyApp({
    tools: [pay],
    script: ({ messages }) => {
      const last = messages.at(-1)
      const isWish = last?.role === 'user' && last.text !== 'hello'
      return isWish ? calls({ tool: 'pay', args: { euros: Number(last.text) } }) : 'fine'
    },
  })
  const skein = await createSkein({ app, backend: memory() })
  const server = await serve(skein, { auth: 'none', port: 0, ...options })
  closing.push(async () => {
    await server.close()
    await skein.close()
  })
  return { skein, url: server.url }
}

async function waits(skein: Skein, root: string, euros: string): Promise<string> {
  const thread = await skein.threads.create({ agent: 'helper', id: root })
  thread.send(euros)
  for await (const [item] of skein.inbox.watch({ root })) if (item) return item.id
  throw new Error('the inbox has ended')
}

it('V2, P4: steps that a rewind has undone say so', async () => {
  const { skein, url } = await open()
  const thread = await skein.threads.create({ agent: 'helper', id: 'one' })
  for (const text of ['hello', 'hello', 'hello']) await thread.send(text).result()
  await thread.rewind({ to: { step: 1 } })
  await thread.send('hello').result()
  const { page, faults } = await look(browser, `${url}/ui/threads/one/steps`)
  await page.waitForSelector('.step >> text=Step 4')
  expect(await page.locator('.step.undone').evaluateAll((all) => all.map(({ id }) => id))).toEqual(['step-3', 'step-2'])
  expect(await page.locator('.step .tag').allTextContents()).toEqual(['undone', 'undone'])
  expect(faults).toEqual([])
})

it('V2, P4: what is compared shows the args of calls', async () => {
  const { skein, url } = await open()
  await waits(skein, 'one', '7')
  await waits(skein, 'two', '9')
  const { page, faults } = await look(browser, `${url}/ui/compare/one/two`)
  await page.waitForSelector('.side .call')
  expect(await page.locator('.side .call').allTextContents()).toEqual(['pay{euros: 7}', 'pay{euros: 9}'])
  expect(faults).toEqual([])
})

it('V1, H3: a key that the server does not know is told as that, in words for who sits at a browser', async () => {
  const { url } = await open({ auth: keyAuth })
  const { page, faults } = await look(browser, `${url}/ui/trees`)
  await page.waitForSelector('.key-form')
  expect(await page.locator('.key-form [role=alert]').count()).toBe(0)
  await page.fill('.key-form input', 'wrong')
  await page.click('text=Use it')
  await page.waitForSelector('.key-form [role=alert] >> text=This server does not know that key')
  await page.waitForSelector('.link-badge.stale')
  expect(await page.textContent('body')).not.toContain('authorization')
  await page.fill('.key-form input', keys.admin)
  await page.click('text=Use it')
  await isLive(page)
  expect(faults).toEqual([])
})

it('V2, P4: a fork is told where it stands: in the list, in its tree and in the inbox', async () => {
  const { skein, url } = await open()
  const one = await skein.threads.create({ agent: 'helper', id: 'one' })
  await one.send('hello').result()
  await one.fork({ id: 'other' })
  await waits(skein, 'other', '7')
  const { page, faults } = await look(browser, `${url}/ui/trees`)
  await page.waitForSelector('#tree-other')
  expect(await page.locator('.table-row .tag').allTextContents()).toEqual(['fork of one'])
  await page.goto(`${url}/ui/trees/other`)
  await page.waitForSelector('.details dt >> text=Fork of')
  expect(await page.textContent('.path-words')).toMatch(/^1 thread · /)
  await page.goto(`${url}/ui/inbox`)
  await page.waitForSelector('.decision')
  expect(await page.textContent('.inbox-line .path')).toBe('helper · level 1 · fork of one')
  expect(await page.textContent('.decision .note')).toContain('belongs to a fork of one')
  expect(faults).toEqual([])
})
