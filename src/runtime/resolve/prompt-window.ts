/**
 * What a prompt reads of the turns before this one (D5): all of it, or not what was said (`includeChat`), or not the
 * calls and their results (`includePastTools`). This turn it reads whole. Of two sides each reads what is for it
 * (perspective.ts).
 *
 * - A window grows as its transcript does, and what a model was given stays as it was: a step costs what was said
 *   since the last one. Where a new turn leaves out something of the last one the list is copied once, and the copy
 *   grows on.
 * - A window is derived: it is made again when the transcript was read again from the journal, and is stored nowhere.
 */
import type { ThreadState, Transcript } from '../../../actors/thread/state.js'
import type { PromptDefinition } from '../../agent/define.js'
import type { Message, SideName } from '../../core/records/message.js'
import { editsOf, withEdits } from './edits.js'
import type { Edits } from './edits.js'
import { seenBy } from './perspective.js'

interface Window {
  /** The list that was read, and how much of it. */
  readonly of: readonly Message[]
  readonly side: SideName | undefined
  readonly edits: Edits | undefined
  /** The last edit. */
  readonly version: number
  readonly chat: boolean
  readonly tools: boolean
  /** Where this turn begins in it. */
  from: number
  read: number
  messages: Message[]
  /** How many of them are of the turns before it. */
  past: number
}

type Wanted = Pick<PromptDefinition, 'includeChat' | 'includePastTools'>

const windows = new WeakMap<Transcript, Partial<Record<SideName, Window>>>()

/** Where the running turn begins, counted from the first message of the thread. */
function turnBegins({ turn, transcript }: ThreadState): number {
  return turn?.from ?? transcript.skipped + transcript.items.length
}

/** Something that was not loaded is asked for. */
export function reachesBack(state: ThreadState, { includeChat = true, includePastTools = true }: Wanted): boolean {
  const { skipped } = state.transcript
  return skipped > 0 && (includeChat || includePastTools || turnBegins(state) < skipped)
}

export function windowOf(
  state: ThreadState,
  { includeChat: chat = true, includePastTools: tools = true }: Wanted,
): readonly Message[] {
  const { transcript } = state
  const side = state.turn?.session?.side
  const version = state.edits.at(-1)?.seq ?? 0
  if (chat && tools && !side && version === 0) return transcript.items
  const from = chat && tools ? 0 : turnBegins(state) - transcript.skipped
  const all = windows.get(transcript) ?? {}
  windows.set(transcript, all)
  const known = all[side ?? 'a']
  const same =
    known?.of === transcript.items &&
    known.side === side &&
    known.version === version &&
    known.chat === chat &&
    known.tools === tools &&
    known.from <= from
  const window: Window = same
    ? known
    : {
        of: transcript.items,
        side,
        edits: editsOf(state.edits),
        version,
        chat,
        tools,
        from: 0,
        read: 0,
        messages: [],
        past: 0,
      }
  all[side ?? 'a'] = window
  if (window.from < from) turnOver(window, from)
  readUpTo(window, window.of.length)
  return window.messages
}

function readUpTo(window: Window, end: number): void {
  for (; window.read < end; window.read++) take(window.messages, seen(window, window.of[window.read]))
}

/** The turns up to there are past. */
function turnOver(window: Window, from: number): void {
  const turn = window.of.slice(window.from, from).flatMap((message) => seen(window, message) ?? [])
  const rest = turn.map((message) => left(window, message))
  if (rest.every((message, index) => message === turn[index])) readUpTo(window, from)
  else {
    window.messages = window.messages.slice(0, window.past)
    for (const message of rest) take(window.messages, message)
  }
  window.past = window.messages.length
  window.from = from
  window.read = from
}

function seen({ side, edits }: Window, message: Message | undefined): Message | undefined {
  const now = message && withEdits(edits, message)
  return now && side ? seenBy(side, now) : now
}

function take(messages: Message[], message: Message | undefined): void {
  if (message) messages.push(message)
}

/** What is left of a message of an earlier turn. */
function left({ chat, tools }: Window, message: Message): Message | undefined {
  const { calls, text, role } = message
  if (!calls) return (role === 'tool' ? tools : chat) ? message : undefined
  if (tools) return text === '' ? message : { ...message, text: '' }
  if (!chat || text === '') return undefined
  const { calls: _, kept: __, ...said } = message
  return said
}
