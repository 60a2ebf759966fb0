/** W5: a parent and its children on NATS, over several hosts; and what the server alone takes of the same messages. */
import { createFlock } from './nats-hosts.mjs'
import * as work from './work.mjs'

const clock = () => performance.now()

/** Turns of one size, as in W3; the children land on whatever host holds their partition. */
export async function w5({ dist, url, hosts, latencyMs, connections, warm, warmChildren, turns, children, budgetMs }) {
  const flock = await createFlock({ dist, url, kind: 'children', latencyMs, connections })
  for (let host = 0; host < hosts; host++) await flock.start(`h${host}`)
  await flock.balanced()
  const client = await flock.client()
  for (let turn = 0; turn < warm; turn++) await timed(flock, client, warmChildren)
  const samples = { us: [], cpuUs: [], appends: [] }
  const end = clock() + budgetMs
  for (let turn = 0; turn < turns && (turn === 0 || clock() < end); turn++) {
    const before = await flock.appended()
    const { us, cpuUs } = await timed(flock, client, children)
    samples.us.push(us)
    samples.cpuUs.push(cpuUs)
    samples.appends.push(((await flock.appended()) - before) / children)
  }
  await flock.end()
  return samples
}

/** Microseconds for each child; counted over all hosts. */
async function timed(flock, client, children) {
  await flock.counts()
  const start = clock()
  const thread = await client.threads.create({ agent: 'lead' })
  const { text, stopReason } = await thread.send(`${work.prompt}${children}`).result()
  const us = ((clock() - start) * 1000) / children
  const { model, tool, reports, cpuUs } = await flock.counts()
  work.assertEqual('text', text, 'done')
  work.assertEqual('stop reason', stopReason, 'completed')
  work.assertEqual('reports that the parent read', reports, children)
  work.assertEqual('model calls', model, children * 3 + 2)
  work.assertEqual('tool calls', tool, children * 4)
  return { us, cpuUs: cpuUs / children }
}

/**
 * The ceiling: the very messages of one turn (sizes, headers, the streams that they go to), published by one client
 * as fast as the server takes them.
 */
export async function w5raw({ dist, url, children, turns, windows }) {
  const flock = await createFlock({ dist, url, kind: 'children' })
  await flock.start('h0')
  const client = await flock.client()
  const seen = []
  const taps = ['log', 'mail', 'snapshot'].map((kind) =>
    flock.nc.subscribe(`${flock.namespace}.${kind}.>`, {
      callback: (_failed, message) => seen.push({ kind, data: message.data, headers: message.headers }),
    }),
  )
  await timed(flock, client, children)
  for (const tap of taps) tap.unsubscribe()
  for (const { headers } of seen)
    for (const name of headers?.keys() ?? []) if (name.startsWith('Nats-')) headers.delete(name)
  const own = `${flock.namespace}_raw`
  const us = []
  for (let turn = 0; turn < turns; turn++) {
    for (const window of windows) {
      for (const kind of ['log', 'mail', 'snapshot'])
        await flock.jsm.streams.add({
          name: `${own}_${kind}`,
          subjects: [`${own}.${kind}.>`],
          storage: 'file',
          discard: 'new',
          allow_direct: true,
        })
      const start = clock()
      await publishAll(seen, window, ({ kind, data, headers }, index) =>
        flock.js.publish(`${own}.${kind}.${index % 64}.t${index}`, data, { headers }),
      )
      us.push(((clock() - start) * 1000) / seen.length)
      for (const kind of ['log', 'mail', 'snapshot']) await flock.jsm.streams.delete(`${own}_${kind}`)
    }
  }
  const bytes =
    seen.reduce((total, { data, headers }) => total + data.length + (headers?.encode().length ?? 0), 0) / seen.length
  await flock.end()
  return { us, messages: seen.length / children, bytes }
}

/** So many are under way at once. */
export async function publishAll(all, window, publish) {
  let next = 0
  const worker = async () => {
    while (next < all.length) {
      const index = next++
      await publish(all[index], index)
    }
  }
  await Promise.all(Array.from({ length: window }, worker))
}
