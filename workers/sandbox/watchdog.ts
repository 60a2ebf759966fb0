/**
 * A limit for what runs on this thread without coming back to its event loop. V8 lets another thread end what runs
 * here; of what Node offers, only `vm` does so and lets the thread live on.
 */
import { Script, createContext } from 'node:vm'
import { broken } from '../../src/core/failure.js'

/** Whoever can be asked to end is asked first. */
export const watchdogMs = 100

const room = { body: (): void => undefined }
createContext(room)
const call = new Script('body()')

/** Throws when `body` takes longer than `limitMs`. */
export function watched<T>(body: () => T, limitMs: number): T {
  let outcome = (): T => {
    throw broken('SM2', 'what is watched was not entered')
  }
  room.body = () => {
    const value = body()
    outcome = () => value
  }
  try {
    call.runInContext(room, { timeout: Math.max(1, Math.ceil(limitMs)) })
  } finally {
    room.body = () => undefined
  }
  return outcome()
}
