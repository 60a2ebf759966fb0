/**
 * A real process that owns a local store, for the tests that kill one: opens the folder as a host, commits one
 * record when asked to, says `ready` after the acknowledgement and then waits to be killed. Asked for blobs, it
 * puts small and large ones without end and says the hash of each after its acknowledgement.
 */
import { local } from '../../../src/backend/local/local.js'
import { commit } from '../../contract/entries.js'

const [dir = '', task] = process.argv.slice(2)
try {
  const host = await local(dir).open('host')
  if (task === 'commit') {
    await host.commit(commit('a', 0, { sends: [{ to: 'b', id: 's', body: 'from a child' }] }))
    await host.snapshots.put('a', Uint8Array.from([1]))
  }
  for (let n = 0; task === 'blobs'; n += 1) {
    const { hash } = await host.blobs.put(Buffer.alloc(n % 10 === 0 ? 100_000 : 1 + n, `blob ${n}`))
    process.stdout.write(`${hash}\n`)
  }
  process.stdout.write('ready\n')
  // Nothing of a store keeps a process alive; only a kill ends this one.
  setInterval(() => undefined, 2 ** 30)
} catch (error) {
  process.stdout.write(`${String(error)}\n`)
}
