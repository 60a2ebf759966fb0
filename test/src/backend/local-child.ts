/**
 * A real process that owns a local store, for the tests that kill one: opens the folder as a host, commits one
 * record when asked to, says `ready` after the acknowledgement and then waits to be killed.
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
  process.stdout.write('ready\n')
  // Nothing of a store keeps a process alive; only a kill ends this one.
  setInterval(() => undefined, 2 ** 30)
} catch (error) {
  process.stdout.write(`${String(error)}\n`)
}
