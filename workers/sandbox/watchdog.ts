/**
 * A time limit for synchronous code on this thread. V8 can end what runs here from another thread; of Node's APIs only
 * `vm` does that without ending the thread.
 */
import { Script, createContext } from 'node:vm'
import { broken } from '../../src/core/failure.js'

/** After the deadline: code that can end by itself does so first. */
export const watchdogMs = 100

const sandbox = { body: (): void => undefined }
createContext(sandbox)
const call = new Script('body()')

/** Throws when `body` takes longer than `limitMs`. */
export function watched<T>(body: () => T, limitMs: number): T {
  let outcome = (): T => {
    throw broken('SM2', 'what is watched was not entered')
  }
  sandbox.body = () => {
    const value = body()
    outcome = () => value
  }
  try {
    call.runInContext(sandbox, { timeout: Math.max(1, Math.ceil(limitMs)) })
  } finally {
    sandbox.body = () => undefined
  }
  return outcome()
}
