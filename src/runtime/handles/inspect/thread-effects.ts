/**
 * Side effects: what calls of threads have done to the world, or may have done. Read off the thread's own fold, with
 * the intent and the outcome of each; unknown ones come first, because a person has to find out about them.
 *
 * - An effect is resolved once; that is a command to its thread.
 */
import { z } from 'zod'
import type { Backend } from '../../../backend/port.js'
import { defined } from '../../../core/defined.js'
import type { Outcome } from '../../../core/effect.js'
import { SkeinError } from '../../../core/failure.js'
import type { Json } from '../../../core/json.js'
import { checkOptions } from '../../../core/options.js'
import { eachHead } from '../../journal/heads.js'
import { chainStart, createEntryReader } from '../../journal/journal.js'
import { plainJson } from '../inbox.js'
import { EffectList } from './effect-list.js'
import { sendCommand } from '../send-command.js'
import { threadMissing } from '../services.js'
import type { ThreadServices } from '../services.js'
import { lazy } from '../../../core/schema.js'

/** What a person found out about a call whose effect was unknown. */
export interface EffectResolution {
  readonly happened: boolean
  /** What it returned, as far as that is known. */
  readonly value?: Json
  readonly comment?: string
  readonly by?: string
}

export interface SideEffect {
  /** `<thread>/call_3_0`: what `effects.resolve` takes. */
  readonly id: string
  readonly thread: string
  readonly path: readonly string[]
  readonly call: string
  readonly tool: string
  readonly args: Json
  /**
   * `running`: its intent is durable and its outcome is not. `unknown`: nobody knows whether it happened; one with
   * `asks` is decided in the inbox, or by what was found out.
   */
  readonly state: 'unknown' | 'running' | 'done' | 'failed'
  /** When its intent was recorded, the last time. */
  readonly beganAt: number
  /** How often it was begun. */
  readonly begins: number
  readonly outcome?: Outcome
  /** It undoes this call, for a rewind: `call_3_0`. */
  readonly reverts?: string
  /** A rewind has undone it since. */
  readonly undone?: true
  /** Someone is asked whether to run it again. */
  readonly asks?: true
  readonly resolution?: EffectResolution & { readonly at: number }
}

export interface Effects {
  /** Unknown effects of one tree, or of all, oldest first. */
  list(filter?: { readonly root?: string }): Promise<readonly SideEffect[]>
  /**
   * Says what became of one. Of a call that waits for a decision this is its result; else its model is told by a silent
   * message. A second resolution is refused.
   */
  resolve(id: string, resolution: EffectResolution): Promise<void>
}

const filterSchema = lazy(() => z.strictObject({ root: z.string().optional() }))
const resolutionSchema = lazy(() =>
  z.strictObject({
    happened: z.boolean(),
    value: z.unknown().optional(),
    comment: z.string().optional(),
    by: z.string().optional(),
  }),
)

export function createEffects({ backend, clock, random }: ThreadServices): Effects {
  return {
    async list(filter = {}) {
      const { root } = checkOptions(filterSchema(), filter, 'effects.list')
      const found: SideEffect[] = []
      for await (const head of eachHead(backend, defined({ root })))
        if (head.unknown) found.push(...(await readEffects(backend, head.thread)).filter(isUnknown))
      return found.sort((one, other) => one.beganAt - other.beganAt)
    },
    async resolve(id, resolution) {
      const { happened, value, comment, by } = checkOptions(resolutionSchema(), resolution, 'effects.resolve')
      const { thread, call } = parseId(id)
      const given = defined({ value: value === undefined ? undefined : plainJson(value), comment, by })
      const command = { kind: 'resolve', call, happened, ...given } as const
      await sendCommand(backend, clock, { thread, id: random.id(), command })
    },
  }
}

const isUnknown = ({ state, undone }: SideEffect): boolean => state === 'unknown' && !undone

function parseId(id: string): { readonly thread: string; readonly call: string } {
  const [, thread, call] = /^([^/]+)\/(call_\d+_\d+)$/.exec(id) ?? []
  if (thread !== undefined && call !== undefined) return { thread, call }
  throw new SkeinError(
    'BAD_OPTION',
    `${JSON.stringify(id)} is no id of an effect; one looks like <thread>/call_3_0 (see thread.effects())`,
  )
}

const batchSize = 1_000
const order = { unknown: 0, running: 1, done: 2, failed: 2 } as const

export async function readEffects(backend: Backend, thread: string): Promise<readonly SideEffect[]> {
  const reader = createEntryReader(thread, { seq: 0, chain: chainStart })
  const effects = new EffectList(thread)
  for (;;) {
    const entries = await backend.journal.read(thread, { after: effects.seq, limit: batchSize })
    for (const entry of entries) for (const record of reader.unpack(entry)) effects.take(record)
    if (entries.length < batchSize) break
  }
  if (effects.seq === 0) threadMissing(thread)
  return effects.all.toSorted((one, other) => order[one.state] - order[other.state] || one.beganAt - other.beganAt)
}
