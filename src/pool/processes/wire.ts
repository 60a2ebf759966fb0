/**
 * What crosses between the host and a worker process. Each has one line for all its calls, as long as it lives, and
 * what is said on it is heard in the order in which it was said; and one to its monitor, which answers while a body
 * computes.
 *
 * - A call is known by its number on its process, given in the order in which the process is handed its calls.
 * - Bytes go behind the message that they belong to, never as text. What is sent belongs to whoever sends it: bytes
 *   that someone may still hold are copied once.
 */
import type { Failure } from '../../core/failure.js'
import type { FileNodeInfo, FileUsage } from '../../files/port.js'
import type { Entries, ToolJob, NewContent, BodyPart, Returned, ToolOutput, ValueAt } from '../port.js'

/** A call, with as little as possible: most of what a message costs is its size. */
export interface WorkerTask extends Pick<ToolJob, 'tool' | 'args' | 'threadId' | 'idempotencyKey' | 'hasParent'> {
  /** Default: `execute`. */
  readonly run?: BodyPart
  readonly env?: ToolJob['env']
  readonly secrets?: ToolJob['secrets']
  readonly contexts?: Readonly<Record<string, ValueAt>>
  /** The worker says when its body begins. */
  readonly reportsBegin?: true
  /** WI1; set when a process has been chosen. */
  call: number
}

/** What a process is started with. */
export interface WorkerData {
  /** Module that exports the definitions. */
  readonly app: string
  readonly memoryMb: number
}

/** What its thread is started with. */
export interface WorkerThreadData extends WorkerData {
  /** Shared with the main thread of the process (workers/thread/control.ts). */
  readonly numbers: Int32Array
}

/** File descriptors of a worker process, besides the standard ones. */
export const channel = {
  /** To it: `ToWorker`. */
  down: 3,
  /**
   * From it: `FromWorker`. Written at once, so that what was said is heard also when the process dies of what comes
   * next.
   */
  up: 4,
  /** To its monitor and back, a line each. */
  monitor: 5,
} as const

/** What the main thread of the process, its monitor, tells: one line of JSON. */
export type FromMonitor =
  | {
      /** Grows while the event loop turns. */
      readonly beat: number
      readonly rssKb: number
    }
  /** Whether the call had not begun, and so never will. */
  | { readonly withdrawn: number; readonly ok: boolean }
  /** The thread that runs bodies is gone, and so is the process in a moment. */
  | { readonly ended: string }

/** What it is asked: a line. */
export const ask = {
  look: 'look',
  withdraw: (call: number): string => `withdraw ${call}`,
} as const

/**
 * What a body may ask of its desk, with what is given for each. A stream and a store are known by the number of the
 * question that opened them.
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
  /** Answered when there is room for the next one. */
  chunk: { readonly asks: { readonly store: number }; readonly gets: undefined }
  stored: { readonly asks: { readonly store: number }; readonly gets: { readonly hash: string; readonly size: number } }
  /** The content broke off. */
  broken: { readonly asks: { readonly store: number; readonly failure: Failure }; readonly gets: undefined }
}

export type Topic = keyof WorkerQuestions

export type WorkerQuestion = { [Each in Topic]: { readonly topic: Each } & WorkerQuestions[Each]['asks'] }[Topic]

export type FromWorker =
  /** Before it loads the app. */
  | { readonly call: 0; readonly hello: true }
  /** The app is there, or why it is not. */
  | { readonly call: 0; readonly loaded: true; readonly failure?: Failure }
  /** Why it ends. */
  | { readonly call: 0; readonly dying: string }
  /** Printed by nobody that is known; 0 is no call. */
  | { readonly call: 0; readonly printed: string }
  /** Of one that acts on the world (WT1), or has little time. */
  | { readonly call: number; readonly begins: true }
  | { readonly call: number; readonly said: ToolOutput }
  /** With its bytes. */
  | { readonly call: number; readonly content: Pick<NewContent, 'hash'> }
  | { readonly call: number; readonly returned: Returned }
  | { readonly call: number; readonly id: number; readonly question: WorkerQuestion }

export type ToWorker =
  | { readonly call: number; readonly task: WorkerTask }
  | { readonly call: number; readonly ended: Failure }
  /** `gets` is absent where it is bytes, or nothing. */
  | { readonly call: number; readonly id: number; readonly gets?: unknown }
  /** `errno`: the code of an error that is not Skein's. */
  | { readonly call: number; readonly id: number; readonly failure: Failure; readonly errno?: string }

/** A copy, for bytes that someone may still hold. */
export function copied(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes)
}

/** Bytes that nobody else holds, copied only if they are part of something larger. */
export function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return isWhole(bytes) ? bytes : copied(bytes)
}

function isWhole(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength === bytes.byteLength
}
