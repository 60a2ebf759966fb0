/**
 * One measurement in a process of its own: `node child.mjs <job as JSON>`; prints one line of JSON. The adapter is
 * imported here, so that its import is what a user of it would wait for.
 */
const job = JSON.parse(process.argv[2] ?? '{}')
const { name, adapterUrl, dist, mode, folder, file } = job
const clock = () => performance.now()
/** Of the whole process, in ms: other load does not change it as much. */
const cpu = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
const work = await import('./work.mjs')

/** The time of what a user of the contender imports: the packages it needs, zod among them. */
async function load() {
  const ours = dist ? await import('./skein.mjs') : undefined
  const start = clock()
  const loaded = ours ? await ours.load(new URL(dist)) : await import(adapterUrl)
  const importMs = clock() - start
  const contender = ours ? ours.adapter(work, { skein: loaded, mode, folder }) : loaded.adapter(work, { mode, file })
  return { contender, importMs }
}

/** Whoever does W3. */
async function withChildren() {
  return dist ? (await import('./skein-children.mjs')).adapter(new URL(dist), job) : (await load()).contender
}

/** Counted, timed, and without the garbage of the one before. */
async function timed(contender, steps) {
  work.resetCounts()
  globalThis.gc?.()
  const start = clock()
  await contender.w1(steps)
  const us = ((clock() - start) * 1000) / steps
  work.assertCounts(steps + 1, steps)
  await contender.tidy?.()
  return us
}

/** The same number of turns for all, however long they take. */
async function warmUp(contender) {
  for (let turn = 0; turn < job.warm; turn++) await timed(contender, 50)
}

function fastestHash(iterations) {
  let best = Number.POSITIVE_INFINITY
  for (let seed = 0; seed < 10; seed++) {
    const start = clock()
    work.hash(seed, iterations)
    best = Math.min(best, clock() - start)
  }
  return best
}

/**
 * A timer of 1 ms: the longest time between two of its calls, less that 1 ms, is how long the event loop stood still.
 */
async function startProbe() {
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
  let longest = 0
  let last = clock()
  const look = () => {
    const now = clock()
    longest = Math.max(longest, now - last - 1)
    last = now
  }
  const timer = setInterval(look, 1)
  await pause(20)
  longest = 0
  return {
    async stop() {
      await pause(5)
      clearInterval(timer)
      return longest
    },
  }
}

const works = {
  async w1() {
    const { contender } = await load()
    await contender.prepare?.()
    await warmUp(contender)
    const samples = {}
    for (const steps of job.sizes) {
      const us = []
      const end = clock() + job.budgetMs
      for (let turn = 0; turn < job.turns && (turn === 0 || clock() < end); turn++)
        us.push(await timed(contender, steps))
      samples[steps] = us
    }
    await contender.close?.()
    return { samples }
  },
  /** All calls of one step compute for `callMs`; a probe watches how long the event loop stands still. */
  async w2() {
    const { warm, turns, calls, iterations } = job
    const given = { calls, iterations }
    const ours = dist ? await (await import('./skein-tools.mjs')).adapter(new URL(dist), folder) : undefined
    const contender = ours ?? (await load()).contender
    const turn = await contender.w2(mode)
    const oneMs = fastestHash(iterations)
    const wallMs = []
    const stallMs = []
    for (let count = -warm; count < turns; count++) {
      work.resetCounts()
      const probe = await startProbe()
      const start = clock()
      const check = await turn(given)
      const ms = clock() - start
      const longest = await probe.stop()
      work.assertEqual('model calls', work.counts.model, 2)
      await check()
      if (count < 0) continue
      wallMs.push(ms)
      stallMs.push(longest)
    }
    await contender.close?.()
    return { oneMs: Math.min(oneMs, fastestHash(iterations)), wallMs, stallMs }
  },
  /** How many rounds of the hash take `callMs` here. */
  async calibrate() {
    const trial = 1_000_000
    for (let count = 0; count < 20; count++) fastestHash(trial)
    const rounds = Math.round((trial * job.callMs) / fastestHash(trial))
    return { iterations: Math.round((rounds * job.callMs) / fastestHash(rounds)) }
  },
  w3: async () => (await import('./children.mjs')).w3(job, await withChildren()),
  live: async () => (await import('./children.mjs')).live(job, await withChildren()),
  w5: async () => (await import('./swarm.mjs')).w5(job),
  w5raw: async () => (await import('./swarm.mjs')).w5raw(job),
  moves: async () => (await import('./moves.mjs')).moves(job),
  w6across: async () => (await import('./across.mjs')).w6across(job),
  w6: async () => (await import('./at-rest.mjs')).w6(job),
  w7: async () => (await import('./at-rest.mjs')).w7(job),
  w9: async () => (await import('./context.mjs')).w9(job),
  w10: async () => (await import('./lists.mjs')).w10(job),
  w11: async () => (await import('./http.mjs')).w11(job),
  w11idle: async () => (await import('./http.mjs')).w11idle(job),
  w13: async () => (await import('./stalls.mjs')).w13(job),
  w12: async () => (await import('./long-lived.mjs')).w12(job),
  w11tree: async () => (await import('./http.mjs')).w11tree(job),
  w7open: async () => (await import('./at-rest.mjs')).w7open(job),
  calls: async () => (await import('./calls.mjs')).calls(job),
  io: async () => (await import('./calls.mjs')).io(job),
  files: async () => (await import('./calls.mjs')).files(job),
  async prep() {
    const { contender } = await load()
    const start = clock()
    const { messages, thread } = await contender.w4prep(job.messages)
    work.assertEqual('messages', messages, job.messages)
    return { ms: clock() - start, thread }
  },
  async step() {
    const { contender, importMs } = await load()
    const start = clock()
    const startCpu = cpu()
    let openCpu
    const opened = () => {
      openCpu = cpu()
      return clock()
    }
    const { seen, openedAt, close } = await contender.w4step({ thread: job.thread, clock: opened })
    const end = clock()
    const endCpu = cpu()
    work.assertEqual('messages that the model saw', seen, job.messages + 1)
    work.assertEqual('model calls', work.counts.model, 1)
    await close?.()
    return {
      importMs,
      loadMs: end - start,
      sinceStartMs: end,
      loadCpuMs: endCpu - startCpu,
      ...(openedAt !== undefined && { openMs: openedAt - start, openCpuMs: openCpu - startCpu }),
    }
  },
  async inject() {
    const { contender, importMs } = await load()
    const start = clock()
    const { close } = await contender.w4inject({ thread: job.thread })
    const end = clock()
    await close()
    return { importMs, loadMs: end - start, sinceStartMs: end }
  },
  /** The main door alone. */
  async import() {
    const start = clock()
    await import(new URL('src/index.js', dist).href)
    return { importMs: clock() - start }
  },
  async start() {
    const { contender, importMs } = await load()
    return { importMs, ...(await contender.w8(clock)) }
  },
}

const answer = await works[job.work]()
console.log(JSON.stringify({ name, ...answer }))
process.exit(0)
