/**
 * W6 across hosts: a parent fills a file and gives it to a child on another host; that one reads it, fills another
 * and gives it back, and the parent reads that. Beside it the same bytes as bare messages of a stream, put and read,
 * twice.
 */
import { createFlock } from './nats-hosts.mjs'
import { publishAll } from './swarm.mjs'
import * as work from './work.mjs'

const clock = () => performance.now()
const chunkBytes = 512 * 1024
const windows = [4, 8, 16]

export async function w6across({ dist, url, bytes, streams, warm, turns }) {
  const flock = await createFlock({ dist, url, kind: 'attaching', bytes, streams })
  await flock.start('h0')
  await flock.start('h1')
  await flock.balanced()
  const client = await flock.client()
  const thread = await client.threads.create({ agent: 'lead' })
  const ms = { across: [], 'same host': [], 'raw put': [], 'raw get': [] }
  // Where a child lands is decided by its id: turns go on until enough of them were across.
  for (let seed = 1; ms.across.length < turns; seed++) {
    const start = clock()
    const { text, stopReason } = await thread.send(`go ${seed}`).result()
    const took = clock() - start
    work.assertEqual('stop reason', stopReason, 'completed')
    const places = /^took:(h\d) took:(h\d)$/.exec(text)
    work.assertEqual(`who took what is told (${text})`, places !== null, true)
    if (seed <= warm) continue
    const across = places[1] !== places[2]
    ms[across ? 'across' : 'same host'].push(took)
    if (across) await raw(flock, bytes, ms)
  }
  work.assertEqual(
    'files that came back',
    (await thread.files.readdir('/attachments')).length,
    ms.across.length + ms['same host'].length + warm,
  )
  await flock.end()
  return { ms }
}

/**
 * The best of what a client can do with a bare stream: several windows. (A consumer that pushes 64 MB is cut off by
 * the server on a busy machine.)
 */
async function raw({ jsm, js, namespace }, bytes, ms) {
  const stream = `${namespace}_raw`
  const whole = new Uint8Array(bytes).fill(7)
  const chunks = Array.from({ length: Math.ceil(bytes / chunkBytes) }, (_, index) =>
    whole.subarray(index * chunkBytes, (index + 1) * chunkBytes),
  )
  const puts = []
  const gets = []
  for (const window of windows) {
    await jsm.streams.add({
      name: stream,
      subjects: [`${stream}.>`],
      storage: 'file',
      discard: 'new',
      allow_direct: true,
    })
    puts.push(await timed(() => publishAll(chunks, window, (chunk, index) => js.publish(`${stream}.${index}`, chunk))))
    gets.push(
      await timed(() =>
        publishAll(chunks, window, (_, index) => jsm.direct.getMessage(stream, { last_by_subj: `${stream}.${index}` })),
      ),
    )
    await jsm.streams.delete(stream)
  }
  ms['raw put'].push(Math.min(...puts))
  ms['raw get'].push(Math.min(...gets))
}

async function timed(run) {
  const start = clock()
  await run()
  return clock() - start
}
