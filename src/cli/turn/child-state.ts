/**
 * The children that work for a turn, as events tell of them: what each was asked, what it does now and what it waits
 * for.
 */
import type { Json, SkeinEvent } from '../../index.js'
import { createCalls } from './calls.js'
import type { ShownHoldReason, ShownCall } from './calls.js'
import { oneLine, preview } from '../format.js'
import { waitAfter } from './waiting-for.js'
import type { ShownModelWait } from './waiting-for.js'

export interface OpenCall {
  readonly call: ShownCall
  readonly held?: ShownHoldReason
  readonly missing?: readonly string[]
  /** The last that it told of itself. */
  readonly said?: string
}

/** A thread below the watched one while a turn of it is open. */
export interface ChildState {
  readonly depth: number
  readonly parent: string
  readonly startedAt: number
  /** What it was asked. */
  readonly topic: string
  readonly calls: ReturnType<typeof createCalls>
  readonly open: Map<string, OpenCall>
  paused?: true
  waits: ShownModelWait | undefined
}

/** The call that someone must let go on. */
export function heldIn({ open }: ChildState): OpenCall | undefined {
  return [...open.values()].find(({ held }) => held !== undefined && held !== 'children')
}

/** Nothing goes on there until someone acts. */
export function standsStill(state: ChildState): boolean {
  return state.paused === true || heldIn(state) !== undefined
}

/** `{ page: 3, of: 8 }` is read easier as "page 3, of 8". */
export function plainly(said: Json): Json {
  if (typeof said !== 'object' || said === null || Array.isArray(said)) return said
  const parts = Object.entries(said)
  return parts.some(([, value]) => typeof value === 'object')
    ? said
    : parts.map(([name, value]) => `${name} ${value}`).join(', ')
}

function saidIn(event: SkeinEvent): string | undefined {
  if (event.type === 'tool.log') return preview(event.text, 60)
  return event.type === 'tool.progress' || event.type === 'tool.preliminary'
    ? preview(plainly(event.event), 60)
    : undefined
}

export function createChildStates(top: string) {
  const states = new Map<string, ChildState>()
  /** What each was asked last: that is told before its turn begins. */
  const topics = new Map<string, string>()
  return {
    states,
    take(event: SkeinEvent): void {
      const { thread, path, type } = event
      if (thread === top) return
      if (type === 'message.received') topics.set(thread, oneLine(event.text, 40))
      if (type === 'turn.started')
        states.set(thread, {
          depth: path.length - path.indexOf(top) - 2,
          parent: path.at(-2) ?? '',
          startedAt: event.at,
          topic: topics.get(thread) ?? '',
          calls: createCalls(),
          open: new Map(),
          waits: undefined,
        })
      if (type === 'turn.ended' || type === 'thread.ended' || type === 'thread.terminated') states.delete(thread)
      const state = states.get(thread)
      if (state) follow(state, event)
    },
  }
}

function follow(state: ChildState, event: SkeinEvent): void {
  const { open, calls } = state
  if (event.type === 'thread.paused') state.paused = true
  if (event.type === 'thread.resumed') delete state.paused
  state.waits = waitAfter(event, state.waits)
  const said = saidIn(event)
  const speaks =
    said !== undefined && 'call' in event && typeof event.call === 'string' ? open.get(event.call) : undefined
  if (speaks && said !== undefined) open.set(speaks.call.id, { ...speaks, said })
  for (const news of calls.take(event)) {
    if (news.state === 'held')
      open.set(news.call.id, { call: news.call, held: news.why, ...(news.missing && { missing: news.missing }) })
    else if (news.state === 'answered' || news.state === 'denied') open.delete(news.call.id)
    else open.set(news.call.id, { call: news.call })
  }
}
