/**
 * Files of a store that nobody but its user may read, whatever the folder and the umask allow. Owns no handle when it
 * returns: closing one on a database would drop the locks that SQLite has on it in this process, so what is
 * there is only renamed in its mode.
 */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { toFailure } from '../../../core/failure.js'

const companions = ['', '-wal', '-shm', '-journal']

/** Makes the file if need be; what SQLite makes beside it later has its mode. */
export function makePrivate(path: string): void {
  // Synchronous: from here until it is closed nobody else in this process can have opened it.
  if (!statSync(path, { throwIfNoEntry: false })) closeSync(openSync(path, 'a', 0o600))
  for (const suffix of companions) narrow(path + suffix)
}

function narrow(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found || (found.mode & 0o077) === 0) return
  try {
    chmodSync(path, 0o600)
  } catch (thrown) {
    // Another user's: no reason to refuse the folder, but someone must know.
    process.emitWarning(
      `${path} can be read by others, and its mode cannot be changed: ${toFailure(thrown, 'STORE_FAILED').message}`,
    )
  }
}
