/** Promises that a test settles by hand, and waiting for what happens in later turns of the event loop. */
import { requests, turn } from './activity.js'

export { turn }

export interface Deferred<Value> {
  readonly promise: Promise<Value>
  resolve(value: Value): void
  reject(why: unknown): void
}

export function deferred<Value = void>(): Deferred<Value> {
  let resolve: (value: Value) => void = () => undefined
  let reject: (why: unknown) => void = () => undefined
  const promise = new Promise<Value>((yes, no) => {
    resolve = yes
    reject = no
  })
  // A test may end before anyone waits.
  promise.catch(() => undefined)
  return { promise, resolve, reject }
}

export async function turns(count: number): Promise<void> {
  for (let past = 0; past < count; past++) await turn()
}

/** So many turns in which no store is asked for anything, for saying that something does not happen. */
export async function quiet(length = 20): Promise<void> {
  for (let count = 0, before = requests(); count < length; count++) {
    await turn()
    const now = requests()
    if (now === undefined || now !== before) count = -1
    before = now
  }
}

const patience = 150_000

/** Waits, by turns of the event loop and not by time, until `holds`; says what never came. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < patience; tries++) {
    if (await holds()) return
    await turn()
  }
  throw new Error(`this never came: ${what}`)
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}
