/** W3 in a process of its own: a parent makes many children; how long that takes, and what a child costs in memory. */
import * as work from './work.mjs'

const clock = () => performance.now()

/** The same warm-up for all, then turns of one size; the peak is that of the first, with whatever was before it. */
export async function w3({ warm, warmChildren, turns, children, budgetMs }, contender) {
  for (let turn = 0; turn < warm; turn++) await timed(contender, warmChildren)
  const us = []
  const cpuUs = []
  let peakMb
  const end = clock() + budgetMs
  for (let turn = 0; turn < turns && (turn === 0 || clock() < end); turn++) {
    const before = process.cpuUsage()
    us.push(await timed(contender, children))
    const { user, system } = process.cpuUsage(before)
    cpuUs.push((user + system) / children)
    peakMb ??= process.resourceUsage().maxRSS / 1024
  }
  await contender.close?.()
  return { us, cpuUs, peakMb }
}

/** Microseconds for each child; counted. */
async function timed(contender, children) {
  work.resetCounts()
  const start = clock()
  const reports = await contender.w3(children)
  const us = ((clock() - start) * 1000) / children
  work.assertEqual('reports that the parent read', reports, children)
  work.assertChildren(children)
  return us
}

/** All children are held before their last answer: what of the heap is theirs, after a full collection. */
export async function live({ warm, warmChildren, children }, contender) {
  for (let turn = 0; turn < warm; turn++) await timed(contender, warmChildren)
  const before = await settledMemory()
  let held
  work.holdChildren(children, async () => void (held = await settledMemory()))
  await timed(contender, children)
  await contender.close?.()
  return { heapKb: (held.heap - before.heap) / 1024 / children, rssKb: (held.rss - before.rss) / 1024 / children }
}

/** Twice, with a pause: what a finalizer lets go is gone too. */
export async function settledMemory() {
  globalThis.gc()
  await new Promise((resolve) => setTimeout(resolve, 50))
  globalThis.gc()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heap: heapUsed + external, rss }
}
