/**
 * Finds processes that a command started and that left its group (`setsid`, a daemon). Where the command has no
 * namespace (fence.ts), they are found on Linux by a mark in their environment, which they inherit.
 *
 * HS1 A process with the mark is found, whatever its group, session or parent. One that clears its environment is not.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { systemRandom } from '../../src/core/clock.js'
import { errorCode } from '../builtins/path.js'

export const markName = 'SKEIN_COMMAND'

/** Undefined where processes cannot be found by a mark. */
export function newMark(): string | undefined {
  return process.platform === 'linux' ? systemRandom.id() : undefined
}

/** A process may start another meanwhile, so the search is repeated, up to this. */
const mostRounds = 20

export function killMarked(mark: string): void {
  for (let round = 0; round < mostRounds; round++) {
    const found = marked(mark)
    if (found.length === 0) return
    found.forEach(kill)
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (thrown) {
    // It has ended meanwhile.
    if (errorCode(thrown) !== 'ESRCH') throw thrown
  }
}

function marked(mark: string): readonly number[] {
  const entry = Buffer.from(`${markName}=${mark}\0`)
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) && hasEntry(name, entry) ? [Number(name)] : []))
}

/** False for processes that may not be read, and for dead ones, which have no environment. */
function hasEntry(pid: string, entry: Buffer): boolean {
  try {
    const environ = readFileSync(`/proc/${pid}/environ`)
    const at = environ.indexOf(entry)
    return at === 0 || (at > 0 && environ[at - 1] === 0)
  } catch {
    return false
  }
}
