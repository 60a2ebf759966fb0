/** A team five levels deep that waits for a person at its end, served with the page, and a browser that looks at it. */
import { z } from 'zod'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { createSkein, defineAgent, defineModel, definePrompt, defineTool, memory } from '../../src/index.js'
import type { Definition, Skein } from '../../src/index.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { serve } from '../../src/server.js'
import type { HandlerOptions, SkeinServer } from '../../src/server.js'
import { TreeStore } from '../../src/page/store/tree-store.js'

/** Debian's package: `npm test` installs it where it is missing. */
const executablePath = '/usr/bin/chromium'

const levels = ['lead', 'planner', 'buyer', 'clerk'] as const

export interface PageWorld {
  readonly skein: Skein
  readonly server: SkeinServer
  /** What was paid, in order. */
  readonly paid: unknown[]
  /** Starts a tree whose last thread waits for approval, and gives that item's id. */
  waits(root: string): Promise<string>
  close(): Promise<void>
}

/** `says` is what the model of the last level answers at its end. */
export async function createPageWorld(
  says: string,
  options: Partial<HandlerOptions> = {},
): Promise<PageWorld> {
  const paid: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Transfers money',
    args: z.object({ to: z.string(), euros: z.number() }),
    needsApproval: true,
    sideEffect: true,
    idempotent: true,
    execute(state, args) {
      paid.push(args)
      return { ...args, key: state.idempotencyKey.length }
    },
  })
  const app: Definition[] = [pay]
  for (const [index, name] of levels.entries()) {
    const next = levels[index + 1]
    const model = scriptedModel(({ messages, step }) => {
      const tool = next ?? 'pay'
      const args = next ? { message: messages[0]?.text ?? '' } : { to: 'printer', euros: 2_000 }
      return step === 0 ? { calls: [{ tool, args }] } : says
    })
    app.push(
      defineModel({ name, model }),
      definePrompt({ name, model: name, prompt: `You are ${name}.`, tools: [next ? { name: next } : 'pay'] }),
      defineAgent({ name, type: 'ai_human', exposeAsTool: index > 0, toolDescription: name, sideA: { prompt: name } }),
    )
  }
  const skein = await createSkein({ app, backend: memory() })
  const server = await serve(skein, { auth: 'none', port: 0, ...options })
  return {
    skein,
    server,
    paid,
    async waits(root) {
      const thread = await skein.threads.create({ agent: 'lead', id: root })
      thread.send('Pay the printer.')
      for await (const [item] of skein.inbox.watch({ root })) if (item) return item.id
      throw new Error('the inbox has ended')
    },
    async close() {
      await server.close()
      await skein.close()
    },
  }
}

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--no-sandbox'] })
}

export interface Looked {
  readonly page: Page
  /** Requests to other origins, dialogs, errors and what the policy has refused. */
  readonly faults: string[]
}

export async function look(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Looked> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  const faults: string[] = []
  const { origin } = new URL(url)
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin) faults.push(request.url())
  })
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    if (/Content Security Policy|Trusted/i.test(message.text())) faults.push(message.text())
  })
  await page.goto(url)
  return { page, faults }
}

export const isLive = (page: Page): Promise<unknown> => page.waitForSelector('.link-badge.live')

/** What the server has of a tree, in the words of the page's own store. */
export async function serverDigest(url: string, root: string): Promise<string> {
  const store = new TreeStore(root)
  store.load(await (await fetch(`${url}/trees/${root}/snapshot`)).json())
  return store.digest()
}

/** Until the page knows what the server knows. */
export async function untilEqual(page: Page, url: string, root: string): Promise<void> {
  for (let digest = ''; ;) {
    const next = await serverDigest(url, root)
    if (next === digest) return
    digest = next
    await page.waitForFunction(`skeinPage.digestOf(${JSON.stringify(root)}) === ${JSON.stringify(digest)}`)
  }
}
