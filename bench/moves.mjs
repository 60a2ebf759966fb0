/**
 * Threads that change their host while they work: one is killed, one is asked to leave, one joins. What is timed is
 * seen from outside, on the server: the commits of each thread and the epoch that made them.
 */
import { createFlock } from './nats-hosts.mjs'
import * as work from './work.mjs'

const clock = () => performance.now()

/**
 * `how`: 'kill', 'leave' or 'join'. Milliseconds until the first and the last thread went on elsewhere, and the pause
 * of each.
 */
export async function moves({ dist, url, how, threads, waitMs }) {
  const flock = await createFlock({ dist, url, kind: 'steps', waitMs })
  const watched = watch(flock)
  await flock.start('h0')
  await flock.start('h1')
  await flock.balanced()
  const client = await flock.client()
  const ids = Array.from({ length: threads }, (_, index) => `t${index}`)
  const runs = await Promise.all(
    ids.map(async (id) => (await client.threads.create({ agent: 'lead', id })).send(work.prompt)),
  )
  await Promise.all(runs.map((run) => run.accepted()))
  await watched.until((seen) => ids.every((id) => (seen.get(id)?.commits ?? 0) >= 10))
  const [leaver, stayer] = flock.hosts
  const before = new Map([...watched.seen].map(([id, { epoch, host }]) => [id, { epoch, host }]))
  const start = clock()
  watched.forgetGaps()
  if (how === 'kill') leaver.kill()
  const left = how === 'leave' ? leaver.ask('close') : undefined
  if (how === 'join') {
    await flock.start('h2')
    await flock.balanced()
  }
  if (how !== 'join')
    await watched.until((seen) =>
      ids.every((id) => before.get(id).host !== leaver.name || seen.get(id).epoch > before.get(id).epoch),
    )
  await left
  // Everybody goes on, wherever.
  const sofar = new Map([...watched.seen].map(([id, { commits }]) => [id, commits]))
  await watched.until((seen) => ids.every((id) => seen.get(id).commits >= sofar.get(id) + 5))
  const moved = ids.filter((id) => watched.seen.get(id).epoch > before.get(id).epoch)
  work.assertEqual('some threads moved', moved.length > 0, true)
  const pauses = moved.map((id) => watched.seen.get(id).pauseMs)
  const times = moved.map((id) => watched.seen.get(id).movedAt - start)
  await finish(flock, { client, runs, ids, hosts: how === 'join' ? flock.hosts : [stayer] })
  await flock.end()
  const gaps = ids.filter((id) => !moved.includes(id)).map((id) => watched.gaps.get(id) ?? 0)
  return {
    firstMs: Math.min(...times),
    lastMs: Math.max(...times),
    pausesMs: pauses,
    gapsMs: gaps,
    moved: moved.length,
  }
}

/** All threads end, and none of their steps is missing or there twice. */
async function finish(flock, { client, runs, ids, hosts }) {
  await Promise.all(flock.hosts.filter((host) => hosts.includes(host)).map((host) => host.ask('stop')))
  for (const run of runs) work.assertEqual('stop reason', (await run.result()).stopReason, 'completed')
  for (const id of ids) {
    const messages = await (await client.threads.get(id)).messages({ limit: 1_000_000 })
    const steps = messages.filter(({ role }) => role === 'tool').map(({ text }) => Number(text.split(' ')[1]))
    work.assertEqual(
      `steps of ${id} in order`,
      steps.every((step, index) => step === index),
      true,
    )
  }
}

/**
 * The last commit of each thread: its epoch, the host that its text names, when it was seen; and the pause when the
 * epoch changed.
 */
function watch({ nc, namespace }) {
  const seen = new Map()
  /** The longest time between two commits of a thread that stays where it is: what the load alone makes of it. */
  const gaps = new Map()
  const waiting = new Set()
  nc.subscribe(`${namespace}.log.>`, {
    callback(_failed, { headers, data }) {
      const { thread, epoch, entry } = JSON.parse(headers.get('Skein-Commit'))
      if (!entry) return
      const at = clock()
      const last = seen.get(thread)
      const host = /@(h\d)@/.exec(Buffer.from(data).toString())?.[1] ?? last?.host
      const moved = last !== undefined && epoch > last.epoch
      if (last && !moved) gaps.set(thread, Math.max(gaps.get(thread) ?? 0, at - last.at))
      seen.set(thread, {
        epoch,
        host,
        at,
        commits: (last?.commits ?? 0) + 1,
        ...(moved
          ? { movedAt: at, pauseMs: at - last.at }
          : last?.movedAt !== undefined && { movedAt: last.movedAt, pauseMs: last.pauseMs }),
      })
      for (const check of [...waiting]) check()
    },
  })
  return {
    seen,
    gaps,
    forgetGaps: () => gaps.clear(),
    until: (holds) =>
      new Promise((resolve) => {
        const check = () => {
          if (!holds(seen)) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
  }
}
