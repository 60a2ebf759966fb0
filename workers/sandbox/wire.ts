/**
 * What crosses between the thread of a body and the thread of its guests.
 *
 * - Everything crosses as a message. Only this does not wait for an event loop to turn: that a run must stop, which
 *   the engine reads in the middle of a loop; the reply to a call of a host function, for which the guest's thread
 *   waits; and the next of many such calls.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Json } from '../../src/core/json.js'
import type { Log } from './guest-output.js'
import type { Verdict } from './verdict.js'
import type { WasmModule } from './wasm.js'

/** A job without the functions, which stay where they are. */
export interface GuestJob {
  readonly language: 'js' | 'ts'
  /** The code itself is the module `code`. */
  readonly modules: ReadonlyMap<string, string>
  readonly execute: { readonly name: string; readonly args: string } | undefined
  /** Names of host functions. */
  readonly imports: readonly string[]
  /** As JSON. */
  readonly globals: string
  readonly memoryLimitBytes: number
  readonly timeoutMs: number
}

/** What a thread is started with. */
export interface GuestThreadData {
  /** Calls of host functions go out here, and replies come in. */
  readonly calls: MessagePort
  readonly counters: Int32Array
}

export const counter = {
  /** Grow with every call, and with every reply. */
  calls: 0,
  replies: 1,
  /** Of memory that engines have now. */
  pages: 2,
} as const

export const counterCount = 3

/** To the guests' thread. */
export type ToGuest =
  | { readonly type: 'engine'; readonly module: WasmModule }
  /** The first number of `stop` is 1 when the run must end. */
  | { readonly type: 'begin'; readonly run: number; readonly job: GuestJob; readonly stop: Int32Array }
  | { readonly type: 'answer'; readonly run: number; readonly id: number; readonly text: string }
  | { readonly type: 'stop'; readonly run: number }

/** A host function is called: `json` is the list of its args. */
export interface HostCall {
  readonly run: number
  readonly id: number
  readonly index: number
  readonly json: string
}

/** From it. */
export type FromGuest =
  | { readonly type: 'ready' }
  | { readonly type: 'log'; readonly run: number; readonly log: Log }
  | { readonly type: 'report'; readonly run: number; readonly value: Json }
  | { readonly type: 'ended'; readonly run: number; readonly verdict: Verdict }

/** To a call. */
export interface GuestReply {
  readonly run: number
  readonly id: number
  /** The JSON of the answer; null: it comes later, as an order. */
  readonly text: string | null
}
