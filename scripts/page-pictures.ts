/**
 * Pictures of the page with a team at work: for docs/page.md and the README, and to look at it with one's own eyes.
 *
 *   tsx scripts/page-pictures.ts [folder]     (default: docs/images)
 */
import { mkdirSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { findChromium } from '../test/helpers/chromium.js'
import type { Page } from 'playwright-core'
import { createSkein, memory } from '../src/index.js'
import { serve } from '../src/server.js'
import { demoApp } from './page/demo.js'

const [folder = 'docs/images', mode = 'docs'] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })

const skein = await createSkein({ app: demoApp, backend: memory(), limits: { maxParallelChildren: 5 } })
const server = await serve(skein, { auth: 'none', port: 0 })
const browser = await chromium.launch({ executablePath: await findChromium(), args: ['--no-sandbox'] })

const team = await skein.threads.create({ agent: 'lead', id: 'survey', tags: ['rivers'] })
team.send('Survey the rivers of Europe, and have maps of the south bought.')
const small = await skein.threads.create({ agent: 'researcher', id: 'small' })
await small.send('Rhine').result()
for (const name of ['Weser', 'Main', 'Inn']) {
  const thread = await skein.threads.create({ agent: 'researcher', id: name.toLowerCase() })
  await thread.send(name).result()
}

const open = async (width: number, scheme: 'light' | 'dark'): Promise<Page> => {
  const context = await browser.newContext({
    viewport: { width, height: mode === 'docs' ? 560 : 860 },
    colorScheme: scheme,
  })
  const page = await context.newPage()
  page.on('console', (message) => message.type() === 'error' && console.error('page:', message.text()))
  page.on('pageerror', (error) => console.error('page:', error.message, error.stack))
  return page
}

const shots: readonly (readonly [name: string, path: string])[] = [
  ['tree', '/ui/trees/survey'],
  ['trees', '/ui/trees'],
  ['inbox', '/ui/inbox'],
  ['thread', '/ui/threads/survey'],
  ['steps', '/ui/threads/survey/steps'],
  ['state', '/ui/threads/survey/state'],
  ['records', '/ui/threads/survey/records'],
  ['files', '/ui/threads/small/files?file=%2Fnotes.md'],
  ['past', '/ui/threads/small/files?file=%2Fnotes.md&diff=1&at=9'],
  ['compare', '/ui/compare/small/weser'],
  ['error', '/ui/threads/none'],
  ['empty', '/ui/inbox?kind=person'],
  ['effects', '/ui/effects'],
  ['hosts', '/ui/hosts'],
  ['agents', '/ui/agents'],
]

async function take(page: Page, name: string, path: string): Promise<void> {
  await page.goto(`${server.url}${path}`)
  await page.waitForSelector('.link-badge.live', { timeout: 10_000 })
  await page.waitForTimeout(700)
  await page.screenshot({ path: `${folder}/${name}.png` })
}

if (mode === 'docs') {
  for (const scheme of ['light', 'dark'] as const) {
    const page = await open(1280, scheme)
    for (const [name, path] of shots.slice(0, 3)) await take(page, `page-${name}-${scheme}`, path)
  }
} else {
  const first = await open(1600, 'light')
  await take(first, 'first-1600-light', '/ui/trees/survey')
  for (const scheme of ['light', 'dark'] as const)
    for (const width of mode === 'all' ? [1600, 1280, 1000] : [1400]) {
      const page = await open(width, scheme)
      for (const [name, path] of shots) await take(page, `${name}-${width}-${scheme}`, path)
      await page.keyboard.press('?')
      await page.waitForTimeout(200)
      await page.screenshot({ path: `${folder}/help-${width}-${scheme}.png` })
      await page.context().close()
    }
  const page = await open(1280, 'light')
  await take(page, 'before-stale', '/ui/trees/survey')
  await server.close()
  await page.waitForSelector('.link-badge.stale')
  await page.waitForTimeout(1_500)
  await page.screenshot({ path: `${folder}/stale.png` })
}
await browser.close()
await server.close()
await skein.close()
