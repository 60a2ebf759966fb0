/**
 * What other processes see of this one's environment. Linux shows to every process of the same user the memory that a
 * process was started with (/proc/PID/environ); changing `process.env` does not touch that memory.
 *
 * - After `hideVariable` the value is in `process.env` as before, and in no byte that /proc/PID/environ shows.
 *   Where the system does not allow that, nothing has changed and the answer is false.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

/** `env_start` of proc_pid_stat(5), counted from the state of the process, which comes after its name. */
const envStartField = 50 - 3

export function hideVariable(name: string): boolean {
  const value = process.env[name]
  if (value === undefined) return true
  try {
    const [begin, end] = placeOf(name)
    if (begin === end) return true
    // The C library gets a copy of its own; the bytes that we wipe were what it read.
    process.env[name] = value
    wipe(begin, end)
    return true
  } catch {
    // Another system, or /proc is closed to us.
    return false
  }
}

/** Where the value is in memory: nowhere when it was set after the start. */
function placeOf(name: string): readonly [begin: number, end: number] {
  const shown = readFileSync('/proc/self/environ')
  const prefix = Buffer.from(`${name}=`)
  for (let at = 0; at < shown.length;) {
    const next = shown.indexOf(0, at)
    const end = next < 0 ? shown.length : next
    if (shown.subarray(at, end).subarray(0, prefix.length).equals(prefix))
      return [envStart() + at + prefix.length, envStart() + end]
    at = end + 1
  }
  return [0, 0]
}

function envStart(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  // The name of the process may hold spaces and brackets.
  const start = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[envStartField])
  if (!Number.isSafeInteger(start) || start <= 0) throw new RangeError('the place of the environment is not told')
  return start
}

function wipe(begin: number, end: number): void {
  const memory = openSync('/proc/self/mem', 'r+')
  try {
    writeSync(memory, Buffer.alloc(end - begin), 0, end - begin, begin)
  } finally {
    closeSync(memory)
  }
}
