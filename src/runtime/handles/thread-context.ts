/** What the model of a thread reads of it now, and what it does not (L3). Read from the journal, in any process. */
import { z } from 'zod'
import type { ThreadState } from '../../../actors/thread/state.js'
import { currentView, tokensIn } from '../../../actors/thread/turn/context.js'
import type { ContextView } from '../../../actors/thread/turn/context.js'
import type { Backend } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { partsOf } from '../../core/records/context.js'
import { shown } from '../../core/records/message.js'
import type { Message, SideName } from '../../core/records/message.js'
import { wakeWhole } from '../journal/wake.js'
import { summaryMessage, turnBegins, windowEntries } from '../resolve/prompt-window.js'
import type { LeftOutReason } from '../resolve/prompt-window.js'
import { checkOptions } from '../../core/options.js'
import { threadMissing } from './services.js'
import { lazy } from '../../core/schema.js'

/** A message that the model does not read, or (`archived`) as a marker. */
export interface LeftOutMessage {
  readonly id: string
  readonly role: Message['role']
  readonly characters: number
  /**
   * `archived`: a marker stands for the result, and `get_tool_response` gives it. `summarised`: the summary stands for
   * it. `hidden`: it was removed. `past`: the prompt leaves it out of earlier turns. `other_side`: it is not for this
   * side.
   */
  readonly why: LeftOutReason
  /** Of a result: its tool and the id of its call. */
  readonly tool?: string
  readonly call?: string
}

export interface ThreadContext {
  /** The side that reads, where there are two. */
  readonly side?: SideName
  /** What the model reads, or would read with the next message. */
  readonly messages: readonly Message[]
  readonly leftOut: readonly LeftOutMessage[]
  /** Where it is limited: about how many tokens a request has, and with how many it is reduced. */
  readonly limit?: { readonly tokens: number; readonly nextTokens: number }
}

export interface ContextQuery {
  /** Of a thread with two sides: whose context it is. Default: the one that speaks next, else side A. */
  readonly side?: SideName
}

const querySchema = lazy(() => z.strictObject({ side: z.enum(['a', 'b']).exactOptional() }))

export async function readContext(backend: Backend, id: string, query: ContextQuery = {}): Promise<ThreadContext> {
  const { side } = checkOptions(querySchema(), query, 'context')
  const { state } = await wakeWhole(backend, id)
  if (state.seq === 0) threadMissing(id)
  const reads = readingSide(state, side)
  const [of = 'a', view] = viewRead(state, reads)
  const { chat, tools } = partsOf(of)
  const from = turnBegins(state)
  const options = { includeChat: chat, includePastTools: tools }
  const entries = windowEntries(state, options, { side: reads, view, from })
  return {
    ...defined({ side: reads }),
    messages: [...summaryIn(view, chat ? 0 : from), ...entries.flatMap((entry) => entry.shown ?? [])].map(shown),
    leftOut: entries.flatMap(({ message, why }) => (why === undefined ? [] : [leftOut(message, why)])),
    ...(view && { limit: { tokens: Math.round(tokensIn(view)), nextTokens: view.next } }),
  }
}

/** Undefined where there are no sides. */
function readingSide({ turn, lastTurn }: ThreadState, asked: SideName | undefined): SideName | undefined {
  const speaks = turn?.session?.side
  const isDual = (speaks ?? lastTurn?.side) !== undefined
  return isDual ? (asked ?? speaks ?? 'a') : undefined
}

/** `after`: a summary of nothing but messages before this one is not read. */
function summaryIn(view: ContextView | undefined, after: number): readonly Message[] {
  return view?.summary && view.summary.before > after ? [summaryMessage(view.summary)] : []
}

/** The view that the side reads in this turn, or read in the last one. */
function viewRead(state: ThreadState, side: SideName = 'a'): readonly [of?: string, view?: ContextView] {
  const current = (state.turn?.session?.side ?? 'a') === side ? currentView(state) : undefined
  const run = state.turn?.run ?? state.lastTurn?.run
  const used = Object.entries(state.contexts).filter(([of, view]) => view.run === run && of.startsWith(side))
  return used.find(([, view]) => view === current) ?? used.at(-1) ?? []
}

function leftOut({ id, role, text, tool, call }: Message, why: LeftOutReason): LeftOutMessage {
  return { id, role, characters: text.length, why, ...defined({ tool, call }) }
}
