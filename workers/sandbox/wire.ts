/**
 * The protocol between the thread of a body and the thread of its guests.
 *
 * - Everything is a message. Three things do not wait for an event loop to turn: the order to stop a run, which the
 *   engine reads in the middle of a loop; the reply to a call of a host function, for which the guest's thread blocks;
 *   and the next of many such calls.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Json } from '../../src/core/json.js'
import type { Log } from './guest-output.js'
import type { Verdict } from './verdict.js'
import type { WasmModule } from './wasm.js'

/** A job without its host functions, which stay on the body's thread. */
export interface GuestJob {
  readonly language: 'js' | 'ts'
  /** By specifier; the code itself is the module `code`. */
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
  /** For calls of host functions and their replies. */
  readonly calls: MessagePort
  readonly counters: Int32Array
}

export const counter = {
  /** These two grow with every call, and with every reply. */
  calls: 0,
  replies: 1,
  /** Pages of memory that engines have now. */
  pages: 2,
} as const

export const counterCount = 3

/** Messages to the guests' thread. */
export type ToGuest =
  | { readonly type: 'engine'; readonly module: WasmModule }
  /** `stop[0]` becomes 1 when the run must end. */
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

/** Messages from it. */
export type FromGuest =
  | { readonly type: 'ready' }
  | { readonly type: 'log'; readonly run: number; readonly log: Log }
  | { readonly type: 'report'; readonly run: number; readonly value: Json }
  | { readonly type: 'ended'; readonly run: number; readonly verdict: Verdict }

/** The reply to a call. */
export interface GuestReply {
  readonly run: number
  readonly id: number
  /** The JSON of the answer, or null if it follows as a message. */
  readonly text: string | null
}
