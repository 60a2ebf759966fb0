/**
 * What crosses between the host and a worker thread, besides Piscina's tasks and answers. Each thread has one port for all
 * its calls, which stays open as long as the thread; a port for every call would cost more than most calls.
 *
 * WI1 A call is known by its number on its thread, given in the order in which the thread is handed its calls.
 * WI2 Bytes are moved, never copied or written as text. What is moved belongs to whoever sends it: bytes that someone may
 *     still hold are copied once, and the copy is moved.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Failure } from '../core/failure.js'
import type { Shown, Usage } from '../files/port.js'
import type { Job, NewContent, Part, Returned, Said, ValueAt } from './port.js'

/** A call, with as little as possible: most of what a message costs is its size. */
export interface WorkerTask extends Pick<Job, 'tool' | 'args' | 'threadId' | 'idempotencyKey' | 'hasParent'> {
  /** Default: `execute`. */
  readonly run?: Part
  readonly env?: Job['env']
  readonly secrets?: Job['secrets']
  readonly given?: Readonly<Record<string, ValueAt>>
  /** Its time is limited: the thread says when the body begins, which may be long after it got the call (the app is loaded first). */
  readonly timed?: true
  /** WI1; set when a thread has been chosen. */
  call: number
}

export interface Answer {
  readonly returned: Returned
  /** How many one-way messages the call has posted: the answer may overtake them (PP2). */
  readonly posted: number
  /** It was taken back before it began, and did nothing. */
  readonly taken?: true
}

/** What a thread is started with. */
export interface ThreadData {
  /** Module that exports the definitions. */
  readonly app: string
  readonly memoryMb: number
}

/** The first thing that a thread says, before it takes calls. */
export interface Hello {
  readonly hello: 'skein'
  readonly thread: number
  readonly port: MessagePort
  readonly control: SharedArrayBuffer
}

/** Numbers that a thread shares with the host, which can read them when the thread is busy or dead. */
export const control = {
  /** 1 once the app is there, or has failed to load. */
  loaded: 0,
  /** Grows while the thread's event loop turns. */
  beat: 1,
  /** Memory of the thread at its last beat: heap and buffers. */
  usedKb: 2,
  /** From here on: calls that have begun (`begunAt`). */
  begun: 3,
} as const

/** So many calls later one is taken for begun, if it has not. */
const beginnings = 4_096

export const controlLength = control.begun + beginnings

/** Where a thread notes the number of a call when its body begins. Calls do not begin in their order. */
export function begunAt(call: number): number {
  return control.begun + (call % beginnings)
}

/** What a body may ask of its desk, with what is given for each. A stream and a store are known by the number of the question that opened them. */
export interface Questions {
  open: { readonly asks: object; readonly gets: { readonly at: number } }
  value: { readonly asks: { readonly key: string }; readonly gets: ValueAt }
  node: { readonly asks: { readonly path: string }; readonly gets: Shown | undefined }
  deep: { readonly asks: { readonly path: string }; readonly gets: string }
  usage: { readonly asks: object; readonly gets: Usage }
  bytes: { readonly asks: { readonly hash: string }; readonly gets: Uint8Array }
  stream: { readonly asks: { readonly hash: string }; readonly gets: undefined }
  /** Undefined: the end. */
  next: { readonly asks: { readonly stream: number }; readonly gets: Uint8Array | undefined }
  drop: { readonly asks: { readonly stream: number }; readonly gets: undefined }
  store: { readonly asks: object; readonly gets: undefined }
  /** Answered when there is room for the next one. */
  chunk: { readonly asks: { readonly store: number; readonly bytes: Uint8Array }; readonly gets: undefined }
  stored: { readonly asks: { readonly store: number }; readonly gets: { readonly hash: string; readonly size: number } }
  /** The content broke off. */
  broken: { readonly asks: { readonly store: number; readonly failure: Failure }; readonly gets: undefined }
}

export type Topic = keyof Questions

export type Question = { [Each in Topic]: { readonly topic: Each } & Questions[Each]['asks'] }[Topic]

export type FromThread =
  /** Printed by nobody that is known; 0 is no call. */
  | { readonly call: 0; readonly printed: string }
  | { readonly call: number; readonly begins: true }
  | { readonly call: number; readonly said: Said }
  | { readonly call: number; readonly content: NewContent }
  | { readonly call: number; readonly id: number; readonly question: Question }

export type ToThread =
  | { readonly call: number; readonly ended: Failure }
  /** Not to begin here; one that has begun goes on. */
  | { readonly call: number; readonly taken: true }
  | { readonly call: number; readonly id: number; readonly gets: unknown }
  /** `errno`: the code of an error that is not Skein's (FP1). */
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
