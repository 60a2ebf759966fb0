/**
 * What a prompt reads of the turns before this one (D5): all of it, or not what was said (`includeChat`), or not the calls and their
 * results (`includePastTools`). This turn it reads whole.
 *
 * WN1 A window grows as its transcript does: a step costs what was said since the last one. A new turn makes another window,
 *     out of what the last one left of the turns before it.
 * WN2 A window is derived: it is made again when the transcript was read again from the journal, and is stored nowhere.
 */
import type { ThreadState, Transcript } from '../../actors/thread/state.js'
import type { PromptDefinition } from '../agent/define.js'
import type { Message } from '../core/message.js'

interface Window {
  /** The list that was read, and how much of it. */
  readonly of: readonly Message[]
  readonly chat: boolean
  readonly tools: boolean
  /** Where this turn begins in it. */
  from: number
  read: number
  /** Of the turns before it. */
  readonly past: Message[]
  messages: Message[]
}

type Wanted = Pick<PromptDefinition, 'includeChat' | 'includePastTools'>

const windows = new WeakMap<Transcript, Window>()

/** Where the running turn begins, counted from the first message of the thread. */
function turnBegins({ turn, transcript }: ThreadState): number {
  return turn?.from ?? transcript.skipped + transcript.items.length
}

/** Something that was not loaded is asked for. */
export function reachesBack(state: ThreadState, { includeChat = true, includePastTools = true }: Wanted): boolean {
  const { skipped } = state.transcript
  return skipped > 0 && (includeChat || includePastTools || turnBegins(state) < skipped)
}

export function windowOf(state: ThreadState, { includeChat: chat = true, includePastTools: tools = true }: Wanted): readonly Message[] {
  const { transcript } = state
  if (chat && tools) return transcript.items
  const from = turnBegins(state) - transcript.skipped
  const known = windows.get(transcript)
  const same = known?.of === transcript.items && known.chat === chat && known.tools === tools && known.from <= from
  const window: Window = same ? known : { of: transcript.items, chat, tools, from: 0, read: 0, past: [], messages: [] }
  windows.set(transcript, window)
  if (window.from < from) turnOver(window, from)
  for (; window.read < window.of.length; window.read++) take(window.messages, window.of[window.read])
  return window.messages
}

/** The turns up to there are past. */
function turnOver(window: Window, from: number): void {
  // A list that a model was given stays as it was.
  if (window.chat || window.tools) for (let at = window.from; at < from; at++) take(window.past, left(window, window.of[at]))
  window.messages = [...window.past]
  window.from = from
  window.read = from
}

function take(messages: Message[], message: Message | undefined): void {
  if (message) messages.push(message)
}

/** What is left of a message of an earlier turn. */
function left({ chat, tools }: Window, message: Message | undefined): Message | undefined {
  if (!message || message.role === 'tool') return tools ? message : undefined
  if (!message.calls) return chat ? message : undefined
  if (tools) return { ...message, text: '' }
  const { calls: _, ...said } = message
  return said.text === '' ? undefined : said
}
