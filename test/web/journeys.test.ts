/**
 * What people do at the page, each way once by mouse and once by keyboard alone (`npm run test:web`; the test command
 * takes turns), against a real runtime.
 */
import { expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { createSkein, memory } from '../../src/index.js'
import type { Skein } from '../../src/index.js'
import type { Script } from '../../src/models/scripted.js'
import { serve } from '../../src/server.js'
import type { HandlerOptions } from '../../src/server.js'
import { calls, looseTool } from '../helpers/app.js'
import { deferred } from '../helpers/deferred.js'
import { family, last, write } from '../helpers/family.js'
import { createPageWorld } from '../helpers/page-world.js'
import { keyAuth, keys } from '../helpers/served.js'
import { personAt } from './acting.js'
import type { Way } from './acting.js'
import { browser, isLive, isWhole, look, useBrowser } from './browser.js'

const closing = useBrowser()

const secret = 'carrier-token-98765'
const question = {
  questions: [{ question: 'Which way?', header: 'Way', options: [{ label: 'by sea' }, { label: 'by air' }] }],
}

interface World {
  readonly skein: Skein
  readonly url: string
  readonly sent: string[]
}

async function open(options: Partial<HandlerOptions> = {}): Promise<World> {
  const sent: string[] = []
  const gate = deferred<string>()
  const mail = looseTool(
    'mail',
    (_state, { to }) => {
      sent.push(String(to))
      return gate.promise
    },
    { sideEffect: true },
  )
  const ship = looseTool('ship', async (state) => `sent with ${(await state.env('TOKEN')).length} letters`, {
    variables: [{ name: 'TOKEN', scoped: true }],
  })
  const note = looseTool('note', async (state, { text }) => {
    await state.files.writeFile('/notes.md', `# Notes\n\n- ${String(text)}\n`)
    return 'noted'
  })
  const lead: Script = ({ messages, step }) => {
    if (messages[0]?.text === 'note' && step < 2) return calls({ tool: 'note', args: { text: `draft ${step}` } })
    if (step > 0) return `heard: ${last(messages)}`
    const wish = last(messages)
    if (wish === 'mail') return calls({ tool: 'mail', args: { to: 'bob' } })
    if (wish === 'ask') return calls({ tool: 'ask_user_question', args: question })
    return wish === 'ship' ? calls(write('go')) : `you said ${wish}`
  }
  const writer: Script = ({ messages, step }) => (step === 0 ? calls('ship') : last(messages))
  const app = family({ tools: [mail, ship, note], lead, writer, more: ['ask_user_question'] })
  const skein = await createSkein({ app, backend: memory() })
  const server = await serve(skein, { auth: 'none', port: 0, ...options })
  closing.push(async () => {
    gate.resolve('late')
    await server.close()
    await skein.close()
  })
  return { skein, url: server.url, sent }
}

/** In the test command each journey goes one way. */
const ways = (usual: Way): readonly Way[] => (isWhole ? ['mouse', 'keys'] : [usual])

async function waitsFor(skein: Skein, root: string, text: string): Promise<void> {
  const thread = await skein.threads.create({ agent: 'lead', id: root })
  thread.send(text)
  for await (const items of skein.inbox.watch({ root })) if (items.length > 0) return
}

it.each(ways('mouse'))(
  'V2, V3: a thread is started, steered and stopped, and what its call did is told, by %s',
  async (way) => {
    const { url, sent } = await open()
    const { page, faults } = await look(browser, `${url}/ui/agents/lead`)
    await isLive(page)
    const person = personAt(page, way)
    await person.type('label:has-text("First message") textarea', 'mail')
    await person.type('label:has-text("Id") input', 'job')
    await person.press('button:has-text("Start a thread")')
    await page.waitForSelector('.tree-row >> text=calls tools')
    await person.press('.details h2 a')
    await person.type('textarea[aria-label="Steer the thread"]', 'hurry')
    await person.press('.composer .action.primary')
    await page.waitForSelector('.message.user >> text=hurry')
    await person.press('.controls button:has-text("Stop turn")')
    await person.press('.controls.confirm .action.primary')
    await page.waitForSelector('.controls .receipt.recorded')
    expect(sent).toEqual(['bob'])
    await person.press('nav a:has-text("Effects")')
    await person.press('.effect-unknown button:has-text("It happened")')
    await page.waitForSelector('.decided >> text=Recorded: it happened')
    await person.press('.decided a[href$="/threads/job"]')
    await page.waitForSelector('.message >> text=mail')
    // What is in the address is what is shown, for anybody.
    const fresh = await look(browser, page.url())
    await fresh.page.waitForSelector('.message >> text=mail')
    expect([...faults, ...fresh.faults]).toEqual([])
  },
)

it.each(ways('keys'))('V2, V3: a question is answered by %s', async (way) => {
  const { url, skein } = await open()
  await waitsFor(skein, 'first', 'ask')
  const { page, faults } = await look(browser, `${url}/ui/inbox`)
  const person = personAt(page, way)
  await person.press('.option input')
  await person.press('.answer .action.primary')
  await page.waitForSelector('.decided >> text=Recorded: answered')
  const thread = await skein.threads.get('first')
  await thread.settled()
  expect((await thread.messages()).at(-1)?.text).toContain('by sea')
  expect(faults).toEqual([])
})

it.each(ways('mouse'))(
  'V2, F3: values are given once; the second tab is told, and no value comes back, by %s',
  async (way) => {
    const { url, skein } = await open()
    await waitsFor(skein, 'one', 'ship')
    const both = [await look(browser, `${url}/ui/inbox`), await look(browser, `${url}/ui/inbox`)]
    const answers: string[] = []
    for (const { page } of both) {
      page.on(
        'response',
        (response) =>
          void response.text().then(
            (text) => answers.push(text),
            () => undefined,
          ),
      )
      await personAt(page, way).type('.answer input[type=password]', secret)
    }
    const meet = meeting(2)
    for (const { page } of both)
      await page.route('**/variables/**', async (route) => {
        await meet()
        await route.continue()
      })
    await Promise.all(both.map(({ page }) => personAt(page, way).press('.answer .action.primary')))
    await Promise.all(both.map(({ page }) => page.waitForSelector('text=/Recorded: values given|Refused/')))
    const told = await Promise.all(both.map(({ page }) => page.textContent('main')))
    expect(told.filter((text) => text?.includes('Recorded: values given'))).toHaveLength(1)
    await (await skein.threads.get('one')).settled({ tree: true })
    expect((await skein.threads.list({ parent: 'one' })).threads).toHaveLength(1)
    for (const { page, faults } of both) {
      const kept = await page.evaluate<string>(
        'document.documentElement.outerHTML + location.href + JSON.stringify([{ ...localStorage }, { ...sessionStorage }])',
      )
      expect(kept).not.toContain(secret)
      expect(faults).toEqual([])
    }
    expect(answers.join()).not.toContain(secret)
  },
)

it.each(ways('mouse'))(
  'V1: files are shown as they were after any change, with what it changed, by %s',
  async (way) => {
    const { url, skein } = await open()
    const thread = await skein.threads.create({ agent: 'lead', id: 'noted' })
    await thread.send('note').result()
    const { page, faults } = await look(browser, `${url}/ui/threads/noted/files`)
    const person = personAt(page, way)
    await person.press('.entry:has-text("notes.md")')
    await page.waitForSelector('.file-text >> text=draft 1')
    await person.press('button:has-text("What that changed")')
    await page.waitForSelector('.diff .removed >> text=draft 0')
    expect(await page.textContent('.diff .added')).toContain('draft 1')
    await person.press('button:has-text("‹ Before")')
    await person.press('button:has-text("‹ Before")')
    await page.waitForSelector('.past >> text=Past: After step 1.0 note')
    await page.waitForSelector('.diff .added >> text=draft 0')
    expect(await page.locator('.diff .removed').count()).toBe(0)
    // A pasted address shows the same past; a key leads back.
    const fresh = await look(browser, page.url())
    await fresh.page.waitForSelector('.file-text >> text=draft 0')
    await page.locator('main').first().press('.')
    await page.waitForSelector('.point-bar >> text=Now')
    expect([...faults, ...fresh.faults]).toEqual([])
  },
)

it.each(ways('mouse'))(
  'V1, V2: a thread is forked at a step after a report of what that crosses, and compared, by %s',
  async (way) => {
    const { url, skein } = await open()
    const thread = await skein.threads.create({ agent: 'lead', id: 'noted' })
    await thread.send('note').result()
    const { page, faults } = await look(browser, `${url}/ui/threads/noted/steps`)
    await isLive(page)
    const person = personAt(page, way)
    await person.press('#step-1 button:has-text("Fork here")')
    await page.waitForSelector('.fork >> text=Nothing was done to the world since')
    expect((await skein.threads.list()).threads).toHaveLength(1)
    await person.press('.fork .action.primary')
    await page.waitForSelector('.compare >> text=/Both begin with the same \\d+ message/')
    await person.press('.compare details summary')
    await page.waitForSelector('.diff .removed >> text=draft 1')
    expect(await page.textContent('.diff .added')).toContain('draft 0')
    expect((await skein.threads.list()).threads).toHaveLength(2)
    expect(faults).toEqual([])
  },
)

/** Waits until so many have come. */
function meeting(size: number): () => Promise<void> {
  const all = deferred()
  let here = 0
  return () => {
    if (++here === size) all.resolve()
    return all.promise
  }
}

async function withKey(page: Page, key: string): Promise<void> {
  await page.fill('input[type=password]', key)
  await page.click('text=Use it')
  await page.waitForSelector('.decision')
}

it('V2, A4: two people decide at once: one wins, the other sees who, and nothing runs twice', async () => {
  const world = await createPageWorld('Paid.', { auth: keyAuth })
  closing.push(() => world.close())
  await world.waits('one')
  const people = [keys.admin, keys.approver].map(async (key) => {
    const { page } = await look(browser, `${world.server.url}/ui/inbox`)
    await withKey(page, key)
    await isLive(page)
    return page
  })
  const pages = await Promise.all(people)
  const meet = meeting(2)
  for (const page of pages)
    await page.route('**/approve', async (route) => {
      await meet()
      await route.continue()
    })
  await Promise.all(
    pages.map(async (page) => {
      await page.click('.approval .action.primary')
      await page.click('.confirm .action.primary')
    }),
  )
  await Promise.all(pages.map((page) => page.waitForSelector('text=/Recorded: approved|Refused/')))
  await Promise.race(pages.map((page) => page.waitForSelector('text=/Decided by/')))
  const told = await Promise.all(pages.map((page) => page.textContent('main')))
  expect(told.filter((text) => text?.includes('Recorded: approved'))).toHaveLength(1)
  const winner = told[0]?.includes('Recorded') ? 'ada' : 'april'
  expect(told.find((text) => text?.includes('Refused'))).toContain(`Decided by ${winner}`)
  await (await world.skein.threads.get('one')).settled({ tree: true })
  expect(world.paid).toHaveLength(1)
})
