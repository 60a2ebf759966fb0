/** What is measured inside a page: frames, keys, and how long it takes until what has happened is seen. */
import type { CDPSession, Page } from 'playwright-core'

export interface Frames {
  readonly fps: number
  readonly p99: number
  readonly long: number
  readonly longest: number
}

const script = (ms: number): string => `new Promise((resolve) => {
  const times = []
  const long = []
  new PerformanceObserver((list) => long.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' })
  const begin = performance.now()
  const next = (now) => {
    times.push(now)
    if (now - begin < ${ms}) return requestAnimationFrame(next)
    const gaps = times.slice(1).map((time, index) => time - times[index]).sort((a, b) => a - b)
    resolve({ fps: (times.length - 1) / ((times.at(-1) - times[0]) / 1000), p99: gaps[Math.floor(gaps.length * 0.99)], long: long.length, longest: Math.max(0, ...long) })
  }
  requestAnimationFrame(next)
})`

export const frames = (page: Page, ms: number): Promise<Frames> => page.evaluate<Frames>(script(ms))

export const frameWords = ({ fps, p99, long, longest }: Frames): string =>
  `${fps.toFixed(0)} fps, p99 ${p99.toFixed(0)} ms, ${long} long tasks${long > 0 ? ` (≤ ${longest.toFixed(0)} ms)` : ''}`

export interface MainThread {
  readonly busyPercent: number
  readonly scriptPercent: number
}

/** How busy the page's main thread is while something else is measured. */
export async function whileBusy<Value>(
  session: CDPSession,
  measure: () => Promise<Value>,
): Promise<readonly [Value, MainThread]> {
  const read = async (): Promise<Map<string, number>> => {
    const { metrics } = await session.send('Performance.getMetrics')
    return new Map(metrics.map(({ name, value }) => [name, value]))
  }
  await session.send('Performance.enable')
  const before = await read()
  const value = await measure()
  const after = await read()
  const grown = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0)
  const percent = (name: string): number => (grown(name) / grown('Timestamp')) * 100
  return [value, { busyPercent: percent('TaskDuration'), scriptPercent: percent('ScriptDuration') }]
}

/** After a collection. */
export async function heapMb(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  return usedSize / 1_048_576
}

/**
 * From the oldest event that a frame shows first to the end of that frame: the first thread says the time every 50 ms,
 * so the oldest unseen one is that which follows the last one seen.
 */
export const eventToPaint = (page: Page, ms: number): Promise<readonly number[]> =>
  page.evaluate<number[]>(`new Promise((resolve) => {
    const found = []
    const begin = performance.now()
    // What was said before this began is no event of it.
    let last = 0
    let isFirst = true
    const look = () => {
      const said = Number(document.querySelector('.tree-row[aria-rowindex="1"] .agent')?.textContent)
      if (said > last) {
        const oldest = last + 50
        if (last > 0 && !isFirst) setTimeout(() => found.push(Date.now() - Math.min(said, oldest)), 0)
        isFirst = last === 0
        last = said
      }
      if (performance.now() - begin < ${ms}) requestAnimationFrame(look)
      else resolve(found)
    }
    requestAnimationFrame(look)
  })`)

/** From a key to the frame that follows, as the browser measures it; it tells of none below 16 ms. */
export async function keyToPaint(page: Page, keys: number): Promise<readonly number[]> {
  await page.evaluate(`globalThis.keyTimes = []; new PerformanceObserver((list) => {
    for (const { name, duration } of list.getEntries()) if (name === 'keydown') keyTimes.push(duration)
  }).observe({ type: 'event', durationThreshold: 16 })`)
  for (let key = 0; key < keys; key++) await page.keyboard.press(key % 40 < 20 ? 'ArrowDown' : 'ArrowUp')
  const slow = await page.evaluate<number[]>('new Promise((resolve) => setTimeout(() => resolve(keyTimes), 300))')
  return [...slow, ...Array.from({ length: Math.max(0, keys - slow.length) }, () => 16)]
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}

/** When the page says so, by the clock of this machine, and when that is painted. */
export const paintedAt = (page: Page, selector: string): Promise<number> =>
  page.evaluate<number>(`new Promise((resolve) => {
    const painted = () => requestAnimationFrame(() => setTimeout(() => resolve(Date.now()), 0))
    const look = () => document.querySelector(${JSON.stringify(selector)}) ? painted() : setTimeout(look, 1)
    look()
  })`)
