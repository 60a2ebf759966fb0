/** A real browser that looks at the page, and what it must not do there. */
import { chromium } from 'playwright-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { findChromium } from '../helpers/chromium.js'
import { serverDigest } from '../helpers/page-world.js'

/** `npm run test:web` looks at everything, the test command at the most important of it. */
export const isWhole = process.env['WEB'] === 'all'

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: await findChromium(), args: ['--no-sandbox'] })
}

/** The browser of a file with `useBrowser`. */
export let browser: Browser

/** A browser for all tests of a file. After each its pages are closed, then what it has put here, the last first. */
export function useBrowser(): (() => Promise<unknown>)[] {
  const closing: (() => Promise<unknown>)[] = []
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(async () => browser.close())
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close()
    for (const close of closing.splice(0).reverse()) await close()
  })
  return closing
}

export interface Looked {
  readonly page: Page
  /** Requests to other origins, dialogs, errors and what the policy has refused. */
  readonly faults: string[]
}

export async function look(by: Browser, url: string, options: BrowserContextOptions = {}): Promise<Looked> {
  const context = await by.newContext({ viewport: { width: 1280, height: 800 }, ...options })
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

/** Looks once in every frame. (The policy of the page lets nobody evaluate text in it, but who drives the browser.) */
function until(page: Page, condition: string): Promise<unknown> {
  return page.evaluate(
    `new Promise((resolve) => { const look = () => (${condition}) ? resolve() : requestAnimationFrame(look); look() })`,
  )
}

/** Until the page knows what the server knows. */
export async function untilEqual(page: Page, url: string, root: string): Promise<void> {
  for (let digest = ''; ;) {
    const next = await serverDigest(url, root)
    if (next === digest) return
    digest = next
    await until(page, `skeinPage.digestOf(${JSON.stringify(root)}) === ${JSON.stringify(digest)}`)
  }
}
