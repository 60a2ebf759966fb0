/**
 * The protocol between the host and a worker process. Each worker has one connection for all its calls, which keeps
 * the order of messages, and one to its monitor, which answers while a body blocks the thread of bodies. Both ends are
 * always of the same build.
 *
 * - A call is known by its number on its worker; numbers are given in the order in which calls are sent to it.
 * - Bytes follow the message that they belong to, never as text. The sender owns what it sends: bytes that someone
 *   else may still use are copied once.
 */
import type { Failure } from '../../core/failure.js'
import type { FileNodeInfo, FileUsage } from '../../files/port.js'
import type { Entries, ToolJob, NewContent, BodyPart, Returned, ToolOutput, ValueAt } from '../port.js'

/** A call with as few fields as possible: the cost of a message is mostly its size. */
export interface WorkerTask extends Pick<
  ToolJob,
  'tool' | 'args' | 'threadId' | 'idempotencyKey' | 'hasParent' | 'trace'
> {
  /** Default: `execute`. */
  readonly run?: BodyPart
  readonly env?: ToolJob['env']
  readonly secrets?: ToolJob['secrets']
  readonly contexts?: Readonly<Record<string, ValueAt>>
  /** The worker sends `begins` before the body runs. */
  readonly reportsBegin?: true
  /** Its number on the worker; set when a worker is chosen. */
  call: number
}

/** What a worker process is started with. */
export interface WorkerData {
  /** Module that exports the definitions. */
  readonly app: string
  readonly memoryMb: number
}

/** What its thread of bodies is started with. */
export interface WorkerThreadData extends WorkerData {
  /** Shared with the monitor (workers/thread/control.ts). */
  readonly numbers: Int32Array
}

/** File descriptors of a worker process, besides the standard ones. */
export const channel = {
  /** Host to worker: `ToWorker`. */
  down: 3,
  /** Worker to host: `FromWorker`. Written synchronously, so that messages arrive even if the process dies next. */
  up: 4,
  /** Host and monitor, both ways, one line per message. */
  monitor: 5,
} as const

/** What the monitor, the main thread of the process, sends: one line of JSON. */
export type FromMonitor =
  | {
      /** Grows while the event loop of the thread of bodies turns. */
      readonly beat: number
      readonly rssKb: number
    }
  /** Whether the call had not begun, and so never will. */
  | { readonly withdrawn: number; readonly ok: boolean }
  /** The thread of bodies has ended, and the process is about to. */
  | { readonly ended: string }

/** What the monitor is asked: one line. */
export const monitorRequest = {
  status: 'status',
  withdraw: (call: number): string => `withdraw ${call}`,
} as const

/**
 * Questions of a body about the snapshot of its thread. A stream and a store are known by the number of the question
 * that opened them.
 */
export interface WorkerQuestions {
  open: { readonly asks: object; readonly gets: { readonly at: number } }
  value: { readonly asks: { readonly key: string }; readonly gets: ValueAt }
  entries: { readonly asks: { readonly prefix: string }; readonly gets: Entries }
  node: { readonly asks: { readonly path: string }; readonly gets: FileNodeInfo | undefined }
  deep: { readonly asks: { readonly path: string }; readonly gets: string }
  usage: { readonly asks: object; readonly gets: FileUsage }
  bytes: { readonly asks: { readonly hash: string }; readonly gets: Uint8Array }
  stream: { readonly asks: { readonly hash: string }; readonly gets: undefined }
  /** Undefined: the end. */
  next: { readonly asks: { readonly stream: number }; readonly gets: Uint8Array | undefined }
  drop: { readonly asks: { readonly stream: number }; readonly gets: undefined }
  store: { readonly asks: object; readonly gets: undefined }
  /** Answered when there is room for the next chunk. */
  chunk: { readonly asks: { readonly store: number }; readonly gets: undefined }
  stored: { readonly asks: { readonly store: number }; readonly gets: { readonly hash: string; readonly size: number } }
  /** The content ended with an error. */
  broken: { readonly asks: { readonly store: number; readonly failure: Failure }; readonly gets: undefined }
}

export type Topic = keyof WorkerQuestions

export type WorkerQuestion = { [Each in Topic]: { readonly topic: Each } & WorkerQuestions[Each]['asks'] }[Topic]

/** Messages of the worker itself have the call 0. */
export type FromWorker =
  /** Sent before the app is loaded. */
  | { readonly call: 0; readonly hello: true }
  /** The app is loaded, or why it is not. */
  | { readonly call: 0; readonly loaded: true; readonly failure?: Failure }
  /** Why the worker ends, and the call whose code ends it, where that is known. That call may be over. */
  | { readonly call: 0; readonly dying: string; readonly culprit?: number }
  /** Printed by code that belongs to no running call. */
  | { readonly call: 0; readonly printed: string }
  /** Of a call with a side effect (WT1), or with a short time limit. */
  | { readonly call: number; readonly begins: true }
  | { readonly call: number; readonly output: ToolOutput }
  /** Followed by its bytes. */
  | { readonly call: number; readonly content: Pick<NewContent, 'hash'> }
  | { readonly call: number; readonly returned: Returned }
  | { readonly call: number; readonly id: number; readonly question: WorkerQuestion }

export type ToWorker =
  | { readonly call: number; readonly task: WorkerTask }
  | { readonly call: number; readonly ended: Failure }
  /** `answer` is absent if it is bytes, or nothing. */
  | { readonly call: number; readonly id: number; readonly answer?: unknown }
  /** `errno`: the code of an error that is not Skein's. */
  | { readonly call: number; readonly id: number; readonly failure: Failure; readonly errno?: string }

/** A copy, for bytes that someone else may still use. */
export function copied(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes)
}

/** For bytes that nobody else uses: copied only if they are part of a larger buffer. */
export function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return isWhole(bytes) ? bytes : copied(bytes)
}

function isWhole(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength === bytes.byteLength
}
