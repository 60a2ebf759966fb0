/**
 * The messages that a prompt reads: of this turn all, of the turns before it all, or not the words (`includeChat`), or
 * not the calls and their results (`includePastTools`) (D5). Of two sides each reads what is meant for it (S11).
 * Pure to its callers: what it remembers is derived from the transcript.
 *
 * - A window grows as its transcript does, and what a model was given stays as it was: a step costs what was said
 *   since the last one. Where a new turn leaves out something of the last one the list is copied once, and the copy
 *   grows on.
 * - A window is made again when the transcript was read again from the journal, and is stored nowhere.
 */
import type { ThreadState, Transcript } from '../../../actors/thread/state.js'
import type { PromptDefinition } from '../../agent/define.js'
import { defined } from '../../core/defined.js'
import type { Message, SideName } from '../../core/records/message.js'
import { editsOf, withEdits } from '../../../actors/thread/turn/edits.js'
import type { Edits } from '../../../actors/thread/turn/edits.js'

/** What decides which messages a window has. */
interface WindowKey {
  /** The list that is read. */
  readonly items: readonly Message[]
  readonly side: SideName | undefined
  /** The number of the last edit. */
  readonly version: number
  readonly chat: boolean
  readonly tools: boolean
}

interface Window extends WindowKey {
  readonly edits: Edits | undefined
  /** Where the running turn begins in `items`. */
  turnFrom: number
  /** How many of `items` were read. */
  read: number
  messages: Message[]
  /** How many of `messages` are of earlier turns. */
  past: number
}

type WindowOptions = Pick<PromptDefinition, 'includeChat' | 'includePastTools'>

const windows = new WeakMap<Transcript, Partial<Record<SideName, Window>>>()

/** Where the running turn begins, counted from the first message of the thread. */
function turnBegins({ turn, transcript }: ThreadState): number {
  return turn?.from ?? transcript.skipped + transcript.items.length
}

/** Whether the prompt reads messages that were not loaded. */
export function reachesBack(
  state: ThreadState,
  { includeChat = true, includePastTools = true }: WindowOptions,
): boolean {
  const { skipped } = state.transcript
  return skipped > 0 && (includeChat || includePastTools || turnBegins(state) < skipped)
}

export function windowOf(
  state: ThreadState,
  { includeChat: chat = true, includePastTools: tools = true }: WindowOptions,
): readonly Message[] {
  const { transcript } = state
  const { items } = transcript
  const side = state.turn?.session?.side
  const version = state.edits.at(-1)?.seq ?? 0
  const isWhole = chat && tools
  if (isWhole && !side && version === 0) return items
  const turnFrom = isWhole ? 0 : turnBegins(state) - transcript.skipped
  const window = currentWindow(state, { items, side, version, chat, tools }, turnFrom)
  if (window.turnFrom < turnFrom) beginTurn(window, turnFrom)
  readUpTo(window, items.length)
  return window.messages
}

/** The window that the side has, if it can grow on; else a new one in its place. */
function currentWindow({ transcript, edits }: ThreadState, key: WindowKey, turnFrom: number): Window {
  const bySide = windows.get(transcript) ?? {}
  windows.set(transcript, bySide)
  const name = key.side ?? 'a'
  const known = bySide[name]
  if (known && isSame(known, key) && known.turnFrom <= turnFrom) return known
  const window: Window = { ...key, edits: editsOf(edits), turnFrom: 0, read: 0, messages: [], past: 0 }
  bySide[name] = window
  return window
}

function isSame(window: WindowKey, { items, side, version, chat, tools }: WindowKey): boolean {
  return (
    window.items === items &&
    window.side === side &&
    window.version === version &&
    window.chat === chat &&
    window.tools === tools
  )
}

function readUpTo(window: Window, end: number): void {
  for (; window.read < end; window.read++) append(window.messages, visible(window, window.items[window.read]))
}

/** The turns up to there are past: what they leave out goes. */
function beginTurn(window: Window, turnFrom: number): void {
  const turn = window.items.slice(window.turnFrom, turnFrom).flatMap((message) => visible(window, message) ?? [])
  const remaining = turn.map((message) => ofPastTurn(window, message))
  if (remaining.every((message, index) => message === turn[index])) readUpTo(window, turnFrom)
  else {
    window.messages = window.messages.slice(0, window.past)
    for (const message of remaining) append(window.messages, message)
  }
  window.past = window.messages.length
  window.turnFrom = turnFrom
  window.read = turnFrom
}

function append(messages: Message[], message: Message | undefined): void {
  if (message) messages.push(message)
}

/** As it reads now, to this side; undefined where it does not. */
function visible({ side, edits }: Window, message: Message | undefined): Message | undefined {
  const edited = message && withEdits(edits, message)
  return edited && side ? seenBy(side, edited) : edited
}

/** What remains of a message of an earlier turn. */
function ofPastTurn({ chat, tools }: Window, message: Message): Message | undefined {
  const { calls, text, role } = message
  if (!calls) return (role === 'tool' ? tools : chat) ? message : undefined
  if (tools) return text === '' ? message : { ...message, text: '' }
  if (!chat || text === '') return undefined
  const { calls: _, kept: __, ...words } = message
  return words
}

/**
 * S11: a side reads its own words and calls as they are, the other's words as a user's, and nothing of the other's
 * calls. A caller plays the other side: a user's message is for side A, an assistant's for side B. Undefined: the
 * message is not for this side.
 */
function seenBy(side: SideName, message: Message): Message | undefined {
  const { id, role, text, at, attachments, media, silent } = message
  if (message.to !== undefined && message.to !== side) return undefined
  if (message.side === side || role === 'system') return message
  const words = { id, text, at, ...defined({ attachments, media, silent: silent || undefined }) }
  if (message.side === undefined) {
    const isForThisSide = message.to === side || (role === 'user') === (side === 'a')
    return { ...words, role: isForThisSide ? 'user' : 'assistant' }
  }
  return role === 'tool' || text === '' ? undefined : { ...words, role: 'user' }
}
