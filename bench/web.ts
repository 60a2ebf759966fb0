/**
 * The page in real Chromium: how much is loaded, how soon rows are there, how it stands a storm, and how soon it says
 * that it is not live. A bare page of the same browser stands beside what depends on the machine.
 *
 *   npm run bench:web [-- --quick]
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { gzipSync } from 'node:zlib'
import { chromium } from 'playwright-core'
import type { CDPSession, Page } from 'playwright-core'
import { findChromium } from '../test/helpers/chromium.js'
import { startStorm } from './lib/storm.js'
import type { Storm } from './lib/storm.js'
import { eventToPaint, frameWords, frames, heapMb, keyToPaint, paintedAt } from './lib/web-figures.js'
import { percentile, whileBusy } from './lib/web-figures.js'

const isQuick = process.argv.includes('--quick')
const stormMs = isQuick ? 5_000 : 60_000
const shortMs = isQuick ? 3_000 : 15_000
const lines: string[] = []

function tell(what: string, figure: string, goal: string): void {
  lines.push(`| ${what} | ${figure} | ${goal} |`)
  console.log(`${what.padEnd(66)} ${figure.padEnd(50)} ${goal}`)
}

const ms = (value: number): string => `${value.toFixed(0)} ms`

function tellSizes(): void {
  const folder = new URL('../dist/page/', import.meta.url)
  const sizeOf = (name: string): number => gzipSync(readFileSync(new URL(`assets/${name}`, folder))).length
  const names = readdirSync(new URL('assets/', folder))
  const html = readFileSync(new URL('index.html', folder), 'utf8')
  const first = names.filter((name) => html.includes(name) && !name.endsWith('.svg'))
  const tree = names.filter((name) => name.startsWith('tree-screen'))
  const kb = (list: readonly string[]): string =>
    `${(list.reduce((sum, name) => sum + sizeOf(name), 0) / 1_024).toFixed(1)} KB`
  tell('first load, JS and CSS, gzip', kb(first), '≤ 30 KB')
  tell('first load of a tree, JS and CSS, gzip', kb([...first, ...tree]), '–')
  tell('everything, gzip', kb(names), '≤ 120 KB')
}

const browser = await chromium.launch({ executablePath: await findChromium(), args: ['--no-sandbox'] })

interface Opened {
  readonly page: Page
  readonly session: CDPSession
  readonly tookMs: number
}

async function open({ url, root }: Storm, slowdown = 1): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1600, height: 900 } })
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  if (slowdown > 1) await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
  const began = performance.now()
  await page.goto(`${url}/ui/trees/${root}?all=1`, { waitUntil: 'commit' })
  await page.waitForSelector('.tree-row:nth-child(21)')
  const tookMs = performance.now() - began
  const text = await page.textContent('.tree-row .label')
  if (text !== root) throw new Error(`the first row says ${text}`)
  return { page, session, tookMs }
}

async function firstRows(storm: Storm, times: number, slowdown = 1): Promise<number> {
  const took: number[] = []
  for (let run = 0; run < times; run++) {
    const { page, tookMs } = await open(storm, slowdown)
    took.push(tookMs)
    await page.context().close()
  }
  return percentile(took, 0.5)
}

async function tellLoads(storm: Storm): Promise<void> {
  const packed = await fetch(`${storm.url}/trees/${storm.root}/snapshot`, { headers: { 'accept-encoding': 'gzip' } })
  const bytes = gzipSync(Buffer.from(await packed.arrayBuffer()), { level: 5 }).length
  tell('snapshot per thread, spans included, gzip', `${(bytes / 10_000).toFixed(0)} bytes`, '≤ 50 bytes')
  const times = isQuick ? 2 : 5
  tell(`10,000 threads: cold to first rows, median of ${times}`, ms(await firstRows(storm, times)), '≤ 800 ms')
  tell('10,000 threads, CPU ÷ 4, once', ms(await firstRows(storm, 1, 4)), '≤ 2,500 ms')
}

async function tellBare(when: string): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1600, height: 900 } })
  const page = await context.newPage()
  tell(`a bare page, ${when}`, frameWords(await frames(page, shortMs)), '–')
  await context.close()
}

async function tellStorms(storm: Storm): Promise<void> {
  const { page, session } = await open(storm)
  await page.waitForSelector('.link-badge.live')
  await tellBare('before')
  await page.bringToFront()
  tell('10,000 threads at rest', frameWords(await frames(page, shortMs)), '–')
  const before = await heapMb(session)
  const blow = async (perSecond: number, forMs: number): Promise<readonly [string, string]> => {
    storm.blow({ perSecond })
    const [seen, { busyPercent, scriptPercent }] = await whileBusy(session, () => frames(page, forMs))
    storm.blow({ perSecond: 0 })
    return [frameWords(seen), `${busyPercent.toFixed(0)} % (script ${scriptPercent.toFixed(0)} %)`]
  }
  const [usual, busy] = await blow(1_000, stormMs)
  tell(`storm of 1,000 events a second, ${stormMs / 1_000} s`, usual, '≥ 55 fps, p99 ≤ 34 ms, 0 long tasks')
  tell('main thread in that storm', busy, '≤ 35 %')
  const after = await heapMb(session)
  tell('heap, and after that storm', `${before.toFixed(1)} MB, ${after.toFixed(1)} MB`, '≤ 15 MB, + ≤ 1 MB')
  const wheel = scroll(page, shortMs)
  const [scrolling, busyScrolling] = await blow(1_000, shortMs)
  await wheel
  tell('the same while scrolling', scrolling, '≤ 1 long task in 10 s')
  tell('main thread while scrolling', busyScrolling, '–')
  tell('storm of 5,000 events a second', (await blow(5_000, shortMs))[0], '≥ 50 fps')
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 })
  tell('storm of 1,000 events a second, CPU ÷ 4', (await blow(1_000, shortMs))[0], '≥ 30 fps, no task > 100 ms')
  await session.send('Emulation.setCPUThrottlingRate', { rate: 1 })
  await tellBare('after')
  await page.bringToFront()
  await page.focus('.tree-box')
  await page.keyboard.press('Home')
  await page.waitForSelector('.tree-row[aria-rowindex="1"]')
  storm.blow({ perSecond: 1_000, tellsTime: true })
  tell('event to paint in the storm, p99', ms(percentile(await eventToPaint(page, shortMs), 0.99)), '≤ 200 ms')
  tell('key to paint in the storm, p95 of 100', ms(percentile(await keyToPaint(page, 100), 0.95)), '≤ 50 ms')
  storm.blow({ perSecond: 0 })
  const nodes = await page.evaluate<number>(`document.querySelectorAll('*').length`)
  tell('elements in the document', String(nodes), '≤ 1,500')
  await tellActs(page)
  await page.context().close()
}

async function scroll(page: Page, forMs: number): Promise<void> {
  await page.mouse.move(500, 400)
  for (const until = performance.now() + forMs; performance.now() < until;) {
    await page.mouse.wheel(0, 240)
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))')
  }
}

/** Each from the key to the end of the frame that shows it. */
async function tellActs(page: Page): Promise<void> {
  const timed = async (key: string, done: string): Promise<number> => {
    await page.evaluate(`void (globalThis.tookMs = new Promise((resolve) => {
      let began
      addEventListener('keydown', () => {
        began = performance.now()
        const look = () => (${done}) ? setTimeout(() => resolve(performance.now() - began), 0) : requestAnimationFrame(look)
        look()
      }, { once: true, capture: true })
    }))`)
    await page.keyboard.press(key)
    return page.evaluate<number>('tookMs')
  }
  const count = `Number(document.querySelector('.tree-box').getAttribute('aria-rowcount'))`
  await page.focus('.tree-box')
  tell('collapse all of 10,000', ms(await timed('o', `${count} < 1000`)), '≤ 100 ms')
  tell('expand all of 10,000', ms(await timed('o', `${count} === 10000`)), '≤ 100 ms')
  await page.focus('input.filter')
  tell('filter 10,000 by a letter', ms(await timed('7', `${count} !== 10000`)), '≤ 100 ms')
}

async function tellLink(storm: Storm): Promise<void> {
  const { page } = await open(storm)
  await page.waitForSelector('.link-badge.live')
  const took = async (selector: string, act: () => void): Promise<number> => {
    const at = Date.now()
    const seen = paintedAt(page, selector)
    act()
    return (await seen) - at
  }
  tell('silence to "Not live" (a beat is 1 s)', ms(await took('.link-badge.stale', storm.freeze)), '≤ 3,000 ms')
  tell('awake again to live', ms(await took('.link-badge.live', storm.thaw)), '≤ 1,000 ms')
  const epoch = await page.evaluate<string>(`skeinPage.epochOf('${storm.root}')`)
  const at = Date.now()
  storm.lose()
  await page.evaluate(`new Promise((resolve) => {
    const look = () => ![undefined, '${epoch}'].includes(skeinPage.epochOf('${storm.root}')) ? resolve() : setTimeout(look, 1)
    look()
  })`)
  tell('reset to all of it read anew', ms(Date.now() - at), '≤ 1,500 ms')
  const tabs = await Promise.all(Array.from({ length: 11 }, () => page.context().newPage()))
  for (const tab of tabs) await tab.goto(`${storm.url}/ui/trees/${storm.root}`)
  for (const tab of tabs) await tab.waitForSelector('.link-badge.live')
  tell('12 tabs of one browser', `12 live, ${await storm.streams()} stream`, '1 stream')
  for (const tab of tabs) await tab.close()
  await page.bringToFront()
  tell('server killed to "Not live"', ms(await took('.link-badge.stale', storm.kill)), '≤ 100 ms')
  await page.context().close()
}

const load = (): string => loadavg()[0]?.toFixed(1) ?? ''
const loadBefore = load()
tellSizes()
const storm = await startStorm(10_000)
await tellLoads(storm)
await tellStorms(storm)
await tellLink(storm)
const great = await startStorm(100_000)
const { page, session, tookMs } = await open(great)
tell('100,000 threads: cold to first rows, once', ms(tookMs), '≤ 2,000 ms')
tell('100,000 threads: heap', `${(await heapMb(session)).toFixed(1)} MB`, '≤ 60 MB')
great.blow({ perSecond: 1_000 })
await page.waitForSelector('.link-badge.live')
tell('100,000 threads: storm of 1,000 events a second', frameWords(await frames(page, shortMs)), '–')
great.kill()
const { version } = { version: browser.version() }
await browser.close()
const notes = readFileSync(new URL('notes/web.md', import.meta.url), 'utf8')
writeFileSync(
  new URL('RESULTS-web.md', import.meta.url),
  `# The page\n\n\`npm run bench:web${isQuick ? ' -- --quick' : ''}\`, Node ${process.versions.node}, Chromium ${version} without ` +
    `a GPU, two cores that also run the server and the driver; load of the machine ${loadBefore} before and ${load()} after.\n\n` +
    `| what | figure | goal |\n|---|---|---|\n${lines.join('\n')}\n\n${notes}`,
)
process.exit(0)
