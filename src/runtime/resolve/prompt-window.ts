/**
 * The messages that a prompt reads: of this turn all, of the turns before it all, or not the words (`includeChat`), or
 * not the calls and their results (`includePastTools`) (D5). Of two sides each reads what is meant for it (S11).
 * Pure to its callers: what it remembers is derived from the transcript.
 *
 * - A window grows as its transcript does, and what a model was given stays as it was: a step costs what was said
 *   since the last one. Where a new turn leaves out something of the last one the list is copied once, and the copy
 *   grows on.
 * - A window is made again when the transcript was read again from the journal, when the conversation was reduced or
 *   edited, and is stored nowhere.
 * - Where the conversation was reduced (L3), the summary stands for the messages before it, and markers for long
 *   results: a request begins with the one before it unless a reduction lies between.
 */
import type { ThreadState, Transcript } from '../../../actors/thread/state.js'
import type { PromptDefinition } from '../../agent/define.js'
import { defined } from '../../core/defined.js'
import { longestShown } from '../../core/records/context.js'
import type { Message, SideName } from '../../core/records/message.js'
import { currentView } from '../../../actors/thread/turn/context.js'
import type { ContextView } from '../../../actors/thread/turn/context.js'
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
  /** Long results before this index are markers. */
  readonly archived: number
  /** The first index that is read: messages before it are summarised. */
  readonly first: number
  readonly summary: ContextView['summary']
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

export type WindowOptions = Pick<PromptDefinition, 'includeChat' | 'includePastTools'>

const windows = new WeakMap<Transcript, Partial<Record<SideName, Window>>>()

/** Where the running turn begins, counted from the first message of the thread. */
export function turnBegins({ turn, transcript }: ThreadState): number {
  return turn?.from ?? transcript.skipped + transcript.items.length
}

/** Whether the prompt reads messages that were not loaded. */
export function reachesBack(
  state: ThreadState,
  { includeChat = true, includePastTools = true }: WindowOptions,
): boolean {
  const { skipped } = state.transcript
  const summarised = currentView(state)?.summary?.before ?? 0
  return skipped > summarised && (includeChat || includePastTools || turnBegins(state) < skipped)
}

export function windowOf(state: ThreadState, options: WindowOptions): readonly Message[] {
  const reader = readerOf(state)
  const key = keyOf(state, options, reader)
  const { chat, tools, side, version, archived, first, summary, items } = key
  const isWhole = chat && tools
  if (isWhole && !side && version === 0 && archived <= 0 && first === 0 && !summary) return items
  const turnFrom = isWhole ? first : Math.max(first, reader.from - state.transcript.skipped)
  const window = currentWindow(state, key, turnFrom)
  if (window.turnFrom < turnFrom) beginTurn(window, turnFrom)
  readUpTo(window, items.length)
  return window.messages
}

/** Who reads: its side, its view, and where the turn begins that it is in, counted from the first message. */
export interface WindowReader {
  readonly side: SideName | undefined
  readonly view: ContextView | undefined
  readonly from: number
}

function readerOf(state: ThreadState): WindowReader {
  return { side: state.turn?.session?.side, view: currentView(state), from: turnBegins(state) }
}

function keyOf(
  { transcript, edits }: ThreadState,
  { includeChat: chat = true, includePastTools: tools = true }: WindowOptions,
  { side, view, from }: WindowReader,
): WindowKey {
  const { items, skipped } = transcript
  const { archived = 0, summary } = view ?? {}
  // A summary of earlier turns has their words in it.
  const isSaid = summary && (chat || summary.before > from)
  return {
    items,
    side,
    version: edits.at(-1)?.seq ?? 0,
    chat,
    tools,
    archived: archived - skipped,
    first: Math.max(0, (summary?.before ?? 0) - skipped),
    summary: isSaid ? summary : undefined,
  }
}

/** The window that the side has, if it can grow on; else a new one in its place. */
function currentWindow({ transcript, edits }: ThreadState, key: WindowKey, turnFrom: number): Window {
  const bySide = windows.get(transcript) ?? {}
  windows.set(transcript, bySide)
  const name = key.side ?? 'a'
  const known = bySide[name]
  if (known && isSame(known, key) && known.turnFrom <= turnFrom) return known
  const { first, summary } = key
  const messages = summary ? [summaryMessage(summary)] : []
  const window: Window = {
    ...key,
    edits: editsOf(edits),
    turnFrom: first,
    read: first,
    messages,
    past: messages.length,
  }
  bySide[name] = window
  return window
}

function isSame(window: WindowKey, key: WindowKey): boolean {
  return (
    window.items === key.items &&
    window.side === key.side &&
    window.version === key.version &&
    window.chat === key.chat &&
    window.tools === key.tools &&
    window.archived === key.archived &&
    window.first === key.first &&
    window.summary === key.summary
  )
}

function readUpTo(window: Window, end: number): void {
  for (; window.read < end; window.read++) append(window.messages, visible(window, window.read))
}

/** The turns up to there are past: what they leave out goes. */
function beginTurn(window: Window, turnFrom: number): void {
  const turn: Message[] = []
  for (let index = window.turnFrom; index < turnFrom; index++) append(turn, visible(window, index))
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
function visible(window: Window, index: number): Message | undefined {
  const { side, edits, archived, items } = window
  const message = items[index]
  const edited = message && withEdits(edits, message)
  const seen = edited && side ? seenBy(side, edited) : edited
  return seen && index < archived ? withoutLongResult(seen) : seen
}

export function summaryMessage({ before, text, at }: NonNullable<ContextView['summary']>): Message {
  return { id: `summary_${before}`, role: 'user', text: summaryText(text), at }
}

/** A summary as the model reads it. */
export function summaryText(text: string): string {
  return `<summary>\n${text}\n</summary>`
}

/** The message with a marker in place of a long result; itself where it is shown whole. */
export function withoutLongResult(message: Message): Message {
  const { role, text, call, media = [], attachments = [], whole } = message
  if (role !== 'tool' || whole || (text.length <= longestShown && media.length === 0)) return message
  const { media: _, ...rest } = message
  const files = attachments.length > 0 ? ` Its files: ${attachments.join(', ')}.` : ''
  const marker =
    `[archived: a result of ${text.length} characters; get_tool_response with id ${JSON.stringify(call)} gives ` +
    `it.${files}]`
  return { ...rest, text: marker }
}

/** What remains of a message of an earlier turn. */
function ofPastTurn({ chat, tools }: Pick<Window, 'chat' | 'tools'>, message: Message): Message | undefined {
  const { calls, text, role } = message
  if (!calls) return (role === 'tool' ? tools : chat) ? message : undefined
  if (tools) return text === '' ? message : { ...message, text: '' }
  if (!chat || text === '') return undefined
  const { calls: _, kept: __, ...words } = message
  return words
}

/** Why a model does not read a message, or not as it was said. */
export type LeftOutReason = 'archived' | 'summarised' | 'hidden' | 'past' | 'other_side'

/** A message of the thread as its model would read it now. */
export interface WindowEntry {
  /** Counted from the first message of the thread. */
  readonly number: number
  readonly message: Message
  /** Undefined: it is not shown. */
  readonly shown: Message | undefined
  readonly why?: LeftOutReason
}

/** The messages that are loaded, one by one: those of the window, and those that it leaves out. */
export function windowEntries(
  state: ThreadState,
  options: WindowOptions,
  reader: WindowReader = readerOf(state),
): readonly WindowEntry[] {
  const key = keyOf(state, options, reader)
  const edits = editsOf(state.edits)
  const { skipped } = state.transcript
  return key.items.map((message, index) => {
    const number = skipped + index
    const hidden = (why: LeftOutReason): WindowEntry => ({ number, message, shown: undefined, why })
    if (index < key.first) return hidden('summarised')
    const edited = withEdits(edits, message)
    if (!edited) return hidden('hidden')
    const seen = reader.side ? seenBy(reader.side, edited) : edited
    if (!seen) return hidden('other_side')
    const left = number < reader.from ? ofPastTurn(key, seen) : seen
    if (!left) return hidden('past')
    const shown = index < key.archived ? withoutLongResult(left) : left
    return { number, message, shown, ...(shown !== left && { why: 'archived' as const }) }
  })
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
