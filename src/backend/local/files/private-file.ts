/**
 * Files of a store that only its user may read, whatever the folder and the umask allow. It opens no file that exists:
 * closing a handle on a database would drop SQLite's locks on it in this process. Owns no state.
 */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { toFailure } from '../../../core/failure.js'

const companions = ['', '-wal', '-shm', '-journal']

/** Makes the file if need be; files that SQLite makes beside it get its mode. */
export function makePrivate(path: string): void {
  // Synchronous, so that nothing else in this process can open it before it is closed.
  if (!statSync(path, { throwIfNoEntry: false })) closeSync(openSync(path, 'a', 0o600))
  for (const suffix of companions) narrow(path + suffix)
}

function narrow(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found || (found.mode & 0o077) === 0) return
  try {
    chmodSync(path, 0o600)
  } catch (thrown) {
    // It belongs to another user: no reason to refuse the folder, but the operator must know.
    process.emitWarning(
      `${path} can be read by others, and its mode cannot be changed: ${toFailure(thrown, 'STORE_FAILED').message}`,
    )
  }
}
