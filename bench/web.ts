/**
 * The page in real Chromium: how much is loaded, how soon rows are there, and how it stands a storm.
 *
 *   npm run bench:web [-- --quick]
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { chromium } from 'playwright-core'
import type { Page } from 'playwright-core'
import { serve } from '../src/server.js'
import { createBusyTree } from './lib/busy-tree.js'

const isQuick = process.argv.includes('--quick')
const stormMs = isQuick ? 5_000 : 30_000
const size = 10_000
const lines: string[] = []

function tell(what: string, figure: string, goal: string): void {
  lines.push(`| ${what} | ${figure} | ${goal} |`)
  console.log(`${what.padEnd(58)} ${figure.padEnd(28)} ${goal}`)
}

const folder = new URL('../dist/page/', import.meta.url)
const sizeOf = (name: string): number => gzipSync(readFileSync(new URL(`assets/${name}`, folder)), { level: 9 }).length
const names = readdirSync(new URL('assets/', folder))
const html = readFileSync(new URL('index.html', folder), 'utf8')
const first = names.filter((name) => html.includes(name) && !name.endsWith('.svg'))
const kb = (list: readonly string[]): string =>
  `${(list.reduce((sum, name) => sum + sizeOf(name), 0) / 1_024).toFixed(1)} KB`
tell('first load, JS and CSS, gzip', kb(first), '≤ 30 KB')
tell(
  'first load of a tree, JS and CSS, gzip',
  kb([...first, ...names.filter((name) => name.startsWith('tree-screen'))]),
  '–',
)
tell('everything, gzip', kb(names), '≤ 120 KB')

const tree = createBusyTree(size)
const server = await serve(tree.skein, { auth: 'none', port: 0 })
const address = `${server.url}/ui/trees/${tree.root}?all=1`
const snapshot = await fetch(`${server.url}/trees/${tree.root}/snapshot`)
await snapshot.arrayBuffer()
const packed = await fetch(`${server.url}/trees/${tree.root}/snapshot`, { headers: { 'accept-encoding': 'gzip' } })
const bytes = Number(packed.headers.get('content-length') ?? gzipSync(Buffer.from(await packed.arrayBuffer())).length)
tell('snapshot per thread, spans included, gzip', `${(bytes / size).toFixed(0)} bytes`, '≤ 50 bytes')

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })

async function open(): Promise<readonly [Page, number]> {
  const context = await browser.newContext({ viewport: { width: 1600, height: 900 } })
  const page = await context.newPage()
  const began = performance.now()
  await page.goto(address, { waitUntil: 'commit' })
  await page.waitForSelector('.tree-row:nth-child(21)')
  const tookMs = performance.now() - began
  const text = await page.textContent('.tree-row .label')
  if (text !== tree.root) throw new Error(`the first row says ${text}`)
  return [page, tookMs]
}

const times: number[] = []
for (let run = 0; run < (isQuick ? 2 : 5); run++) {
  const [page, tookMs] = await open()
  times.push(tookMs)
  await page.context().close()
}
const median = times.sort((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0
tell(`${size} threads: cold to first rows, median of ${times.length}`, `${median.toFixed(0)} ms`, '≤ 800 ms')

const frames = `new Promise((resolve) => {
  const times = []
  const long = []
  new PerformanceObserver((list) => long.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' })
  const begin = performance.now()
  const next = (now) => {
    times.push(now)
    if (now - begin < ${stormMs}) return requestAnimationFrame(next)
    const gaps = times.slice(1).map((time, index) => time - times[index]).sort((a, b) => a - b)
    resolve({ fps: (times.length - 1) / ((times.at(-1) - times[0]) / 1000), p99: gaps[Math.floor(gaps.length * 0.99)], long: long.length, longest: Math.max(0, ...long) })
  }
  requestAnimationFrame(next)
})`

interface Frames {
  readonly fps: number
  readonly p99: number
  readonly long: number
  readonly longest: number
}

const words = ({ fps, p99, long, longest }: Frames): string =>
  `${fps.toFixed(0)} fps, p99 ${p99.toFixed(0)} ms, ${long} long (≤ ${longest.toFixed(0)} ms)`

async function storm(page: Page, perSecond: number): Promise<Frames> {
  let isOn = true
  const blow = async (): Promise<void> => {
    for (let sent = 0, began = performance.now(); isOn; await sleep(10))
      for (const due = ((performance.now() - began) / 1_000) * perSecond; sent < due; sent++) tree.change()
  }
  const blowing = blow()
  const measured = await page.evaluate<Frames>(frames)
  isOn = false
  await blowing
  return measured
}

const [page] = await open()
await page.waitForSelector('.link-badge.live')
tell('the same page at rest', words(await page.evaluate<Frames>(frames)), '–')
tell(`storm of 1,000 events a second, ${stormMs / 1_000} s`, words(await storm(page, 1_000)), '≥ 55 fps, p99 ≤ 34 ms')
tell(`storm of 5,000 events a second, ${stormMs / 1_000} s`, words(await storm(page, 5_000)), '≥ 50 fps')
const nodes = await page.evaluate<number>(`document.querySelectorAll('*').length`)
tell('elements in the document', String(nodes), '≤ 1,500')
const began = performance.now()
await server.close()
await page.waitForSelector('.link-badge.stale')
tell('server gone to "Not live"', `${(performance.now() - began).toFixed(0)} ms`, '≤ 100 ms after the cut')
await browser.close()
writeFileSync(
  new URL('RESULTS-web.md', import.meta.url),
  `# The page\n\n\`npm run bench:web${isQuick ? ' -- --quick' : ''}\`, Node ${process.versions.node}, Chromium without a GPU, ` +
    `two cores that also run the server and the driver.\n\n| what | figure | goal |\n|---|---|---|\n${lines.join('\n')}\n`,
)
process.exit(0)
