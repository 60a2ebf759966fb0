/**
 * Hides a variable of this process from other processes. Linux shows every process of the same user the memory that a
 * process was started with (/proc/PID/environ); changing `process.env` does not touch that memory.
 *
 * - After `hideVariable` the value is in `process.env` as before, and in no byte that /proc/PID/environ shows.
 *   Where the system does not allow that, nothing has changed and the result is false.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

/** `env_start` of proc_pid_stat(5), counted from the state of the process, which comes after its name. */
const envStartField = 50 - 3

export function hideVariable(name: string): boolean {
  const value = process.env[name]
  if (value === undefined) return true
  try {
    const [begin, end] = addressOf(name)
    if (begin === end) return true
    // Gives the C library a copy of its own: until now it has read the bytes that are wiped.
    process.env[name] = value
    wipe(begin, end)
    return true
  } catch {
    // Not Linux, or /proc is not accessible.
    return false
  }
}

/** Where the value is in memory: an empty range when it was set after the start. */
function addressOf(name: string): readonly [begin: number, end: number] {
  const environ = readFileSync('/proc/self/environ')
  const prefix = Buffer.from(`${name}=`)
  for (let at = 0; at < environ.length;) {
    const next = environ.indexOf(0, at)
    const end = next < 0 ? environ.length : next
    if (environ.subarray(at, end).subarray(0, prefix.length).equals(prefix))
      return [envStart() + at + prefix.length, envStart() + end]
    at = end + 1
  }
  return [0, 0]
}

function envStart(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  // The name of the process may contain spaces and parentheses.
  const start = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[envStartField])
  if (!Number.isSafeInteger(start) || start <= 0) throw new RangeError('the address of the environment is not shown')
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
