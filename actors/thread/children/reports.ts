/**
 * Reports: what a child says to its parent, how its turns ended and what its tools say in between.
 *
 * - Every message that asks for a reply gets one: how the turn ended that read it (F7), or that it was withdrawn, or
 *   that the thread ended before. Several messages that no call waits for get one reply.
 * - What a body says to the parent counts when its call does, and is sent once, with the record (S7).
 * - Mail of a child is numbered from 1. The parent keeps the last number and nothing else: mail that it has had
 *   changes nothing, and mail that came early waits for the mail before it.
 * - The last answer of a child that does not stay says that it has ended: there is no second mail for that.
 * - A child that does not stay answers when what it started is done: children that nobody waits for, requested
 *   values, queued messages. Its last text is the answer. A child that did not finish ends at once, and says what
 *   ended with it.
 */
import { brokenText, collectAttachments } from '../../../src/core/attachments.js'
import type { CollectedAttachments } from '../../../src/core/attachments.js'
import { defined } from '../../../src/core/defined.js'
import type { Command } from '../../../src/core/records/command.js'
import type { Outcome } from '../../../src/core/effect.js'
import { failure } from '../../../src/core/failure.js'
import { isObject } from '../../../src/core/json.js'
import type { Json } from '../../../src/core/json.js'
import { mutants } from '../../../src/core/mutants.js'
import { failureText } from '../../../src/core/records/message.js'
import type { Message, SideName } from '../../../src/core/records/message.js'
import type {
  ChildTold,
  Fact,
  Gives,
  MessagesWithdrawn,
  ParentTold,
  ReportSent,
  Saying,
  Word,
} from '../../../src/core/records/record.js'
import { withAttachments } from './attachments.js'
import { frameChildText } from './frame.js'
import { lastMail, noteMail } from './mail-numbers.js'
import { runningBelow } from './running-below.js'
import { endNotice } from '../decide/lifecycle.js'
import { noteReport, unreported } from '../budget/usage.js'
import { hasEnded, statusOf } from '../state.js'
import type { EndedTurn, PendingReply, ThreadState, Turn } from '../state.js'
import type { Status } from '../../../src/core/records/status.js'
import { noItems, withItem } from '../../../src/core/lists.js'
import { serialOf } from '../travel/lineage.js'

/** The next mail to the parent, or to another thread that waits for a reply. */
export function dueReport(state: ThreadState): Fact | undefined {
  const { outbox, pendingReplies, turn } = state
  if (outbox.length > 0) return { type: 'parent.told', words: outbox.map((saying) => wordOf(state, saying)) }
  const withdrawn = pendingReplies.find((reply) => reply.withdrawn !== undefined)
  if (withdrawn) return withdrawalReport(state, withdrawn)
  if (turn || pendingReplies.length === 0 || awaitsDescendants(state)) return undefined
  return turnReport(state) ?? endReport(state)
}

/** A child that does not stay waits for what it started. A prompt does not: it makes one request. */
export function awaitsDescendants(state: ThreadState): boolean {
  const { child, lastTurn, working, retries, requests, queue, queuedCalls } = state
  if (!lastTurn || child?.lasting !== false || child.gives || hasEnded(state) || !finished.has(lastTurn.reason))
    return false
  if (working > 0 || retries.length > 0 || queuedCalls.length > 0 || Object.keys(requests).length > 0) return true
  return queue.some(({ delivery }) => delivery !== 'store')
}

/** The status for others: a thread that waits for what it started is not idle. */
export function statusReported(state: ThreadState): Status {
  const status = statusOf(state)
  if (status !== 'idle' || !awaitsDescendants(state)) return status
  return state.working > 0 || state.retries.length > 0 || Object.keys(state.requests).length === 0
    ? 'waiting'
    : 'awaiting_variables'
}

/** What ended with the thread, and whether someone ended it after its last turn, for the model of its parent. */
function endNotes(state: ThreadState): readonly string[] {
  const { endedWith = runningBelow(state), endedFor } = state
  const terminated = state.endedWith ? [`[it was terminated${because(endedFor)}]`] : []
  return [...terminated, ...(endedWith.length > 0 ? [`[ended with it: ${endedWith.join('; ')}]`] : [])]
}

/** How the last turn ended, for those whose message it read. */
function turnReport(state: ThreadState): Fact | undefined {
  const { pendingReplies, lastTurn, child } = state
  const waiting = lastTurn ? pendingReplies.filter(({ run }) => run === lastTurn.run) : []
  if (!lastTurn || waiting.length === 0) return undefined
  const over = hasEnded(state) || child?.lasting === false || undefined
  const failed = lastTurn.reason === 'failed' || undefined
  return {
    type: 'report.sent',
    run: lastTurn.run,
    to: addressesOf(waiting),
    outcome: outcomeOf(lastTurn, child?.gives),
    ...defined({ over, failed }),
    ...filesOf(state, lastTurn, over ? endNotes(state) : []),
    ...unreported(state, waiting.length === pendingReplies.length),
  }
}

/** The thread has ended: nobody will read the messages that still wait for a reply. */
function endReport(state: ThreadState): Fact | undefined {
  const { pendingReplies, endedFor } = state
  const [first] = pendingReplies
  if (!first || !hasEnded(state)) return undefined
  const unread = first.message === endNotice ? '' : 'it did not read this: '
  return {
    type: 'report.sent',
    run: first.run ?? first.message,
    to: addressesOf(pendingReplies),
    outcome: {
      ok: false,
      failure: failure('CHILD_FAILED', `${unread}it is ${statusOf(state)}${because(endedFor)}`),
    },
    over: true,
    ...unreported(state, true),
  }
}

function withdrawalReport(state: ThreadState, reply: PendingReply): Fact {
  const why = `it did not read this: it was taken back${because(reply.withdrawn || undefined)}`
  const last = state.pendingReplies.length === 1 && !state.turn
  return {
    type: 'report.sent',
    run: reply.message,
    to: addressesOf([reply]),
    outcome: { ok: false, failure: failure('CHILD_FAILED', why) },
    ...unreported(state, last),
  }
}

export function reportSent(state: ThreadState, record: ReportSent): boolean {
  const { pendingReplies } = state
  // Those whose message was read in this turn; or, when the thread has ended, all whose message never was.
  const ofTurn = pendingReplies.some(({ run }) => run === record.run)
  state.pendingReplies = ofTurn ? pendingReplies.filter(({ run }) => run !== record.run) : noItems
  noteReport(state, record)
  return true
}

export function messagesWithdrawn(state: ThreadState, { messages, reason = '' }: MessagesWithdrawn): boolean {
  const withdrawn = new Set(messages)
  state.queue = state.queue.filter(({ message }) => !withdrawn.has(message.id))
  for (const reply of state.pendingReplies) {
    if (!withdrawn.has(reply.message)) continue
    reply.withdrawn = reason
    reply.run = reply.message
  }
  return true
}

/** A thread that no call waits in reads the answer once: the further addresses of it are quiet. */
function addressesOf(replies: readonly PendingReply[]): ReportSent['to'] {
  const reached = new Set<string>()
  return replies.map(({ thread, call, quiet, began }) => {
    const repeated = call === undefined && reached.has(thread)
    if (call === undefined && !quiet) reached.add(thread)
    return { thread, ...defined({ call, quiet: quiet ?? (repeated || undefined), began }) }
  })
}

const because = (why: string | undefined): string => (why === undefined ? '' : ` (${why})`)

/** Reasons with which a turn has an answer. */
const finished: ReadonlySet<EndedTurn['reason']> = new Set(['completed', 'empty_reply', 'session_stopped'] as const)

function outcomeOf(ended: EndedTurn, gives: Gives | undefined): Outcome {
  const { reason, text, output, failure: failed, detail } = ended
  // Calls that its tools queued are the last step of a prompt.
  if (gives && (reason === 'completed' || reason === 'empty_reply' || reason === 'max_steps'))
    return promptResult(ended, gives)
  if (finished.has(reason)) return { ok: true, value: output ?? text }
  const why = failure(
    'CHILD_FAILED',
    `it did not finish: ${reason}${because(failed?.message ?? detail)}${text === '' ? '' : `. It last said: ${text}`}`,
  )
  return { ok: false, failure: failed ? { ...why, cause: failed } : why }
}

/** The outcome of a prompt that was called as a tool (S10): text, results of its calls and failures, as asked for. */
function promptResult({ text, output, given = [] }: EndedTurn, gives: Gives): Outcome {
  const failed = given.flatMap(({ tool, args, outcome }) =>
    outcome.ok ? [] : [{ tool, args, error: failureText(outcome.failure) }],
  )
  if (gives.output && output === undefined) {
    const why =
      failed.findLast(({ tool }) => tool === 'response')?.error ??
      (text === '' ? 'it did not give any' : `it said: ${text}`)
    return { ok: false, failure: failure('CHILD_FAILED', `it gave no answer in the form that was asked for: ${why}`) }
  }
  const said = output ?? text
  if (gives.text && !gives.calls && !gives.errors) return { ok: true, value: said }
  const calls = given.flatMap(({ tool, args, outcome }): Json[] =>
    outcome.ok && tool !== 'response' ? [{ tool, args, result: outcome.value }] : [],
  )
  return {
    ok: true,
    value: {
      ...(gives.text && { text: said }),
      ...(gives.calls && { toolCalls: calls }),
      ...(gives.errors && { errors: failed }),
    },
  }
}

/** Files that go with the answer of this turn: those that its tools gave, and those that its output names. */
export function answerFiles({ attachments = [], output }: Partial<Pick<Turn, 'attachments' | 'output'>>): {
  readonly attachments?: readonly string[]
} {
  const named =
    isObject(output) && Array.isArray(output['attachments'])
      ? output['attachments'].filter((path) => typeof path === 'string' && path.startsWith('/'))
      : []
  const all = [...new Set([...attachments, ...named])]
  return all.length > 0 ? { attachments: all } : {}
}

/** Files were there when they were named; a note names those that are gone since. */
function filesOf(
  { files }: ThreadState,
  { attachments = [] }: EndedTurn,
  more: readonly string[],
): Pick<ReportSent, 'attachments' | 'note'> {
  const { there, broken, files: found } = collectAttachments(files, attachments)
  const notes = [...(broken.length > 0 ? [notAttached(broken)] : []), ...more]
  return {
    ...(there.length > 0 && { attachments: { files: found, paths: there } }),
    ...(notes.length > 0 && { note: notes.join('\n\n') }),
  }
}

const notAttached = (broken: CollectedAttachments['broken']): string => `[not attached: ${brokenText(broken)}]`

/** The body has seen that its files are there; the text names those that are gone since. */
function wordOf({ files }: ThreadState, saying: Saying): Word {
  if ('status' in saying) return saying
  const { text, attachments = [] } = saying
  const { there, broken, files: found } = collectAttachments(files, attachments)
  return {
    text: broken.length === 0 ? text : `${text}\n\n${notAttached(broken)}`,
    ...(there.length > 0 && { attachments: found }),
  }
}

export function applyParentTold(state: ThreadState, { words }: ParentTold): boolean {
  state.outbox = noItems
  state.mailsToParent++
  for (const word of words) if ('status' in word) state.statusText = word.status
  return true
}

export function applyChildTold(state: ThreadState, { reference, child: id, words, number }: ChildTold): boolean {
  const child = state.children.get(reference)
  if (!child) return false
  noteMail(child, id, number)
  if (child.id !== id) return false
  for (const [index, word] of words.entries()) {
    if ('status' in word) child.statusText = word.status
    else queueWord(state, word, { id: `told_${serialOf(state)}_${index}`, reference, side: child.side })
  }
  return true
}

interface WordOrigin {
  readonly id: string
  readonly reference: string
  readonly side: SideName | undefined
}

function queueWord(
  state: ThreadState,
  word: Extract<Word, { readonly text: string }>,
  { id, reference, side }: WordOrigin,
): void {
  const at = state.updatedAt
  const { text, attachments, media } = withAttachments(state, {
    text: frameChildText(reference, word.text),
    at,
    ...defined({ files: word.attachments }),
  })
  const message: Message = { id, role: 'user', text, at, silent: true, ...defined({ attachments, media, to: side }) }
  state.queue = withItem(state.queue, { message, delivery: 'steer', from: reference })
}

/** Whether mail of a child is the next one (`now`), was had before (`heard`), or must wait for others (`early`). */
export function mailTurn({ children }: ThreadState, command: Command): 'now' | 'heard' | 'early' {
  if ((command.kind !== 'report' && command.kind !== 'tell') || command.number === undefined) return 'now'
  const child = children.get(command.reference)
  const last = child && lastMail(child, command.child)
  if (last === undefined || mutants.hearsTwice) return 'now'
  if (command.number <= last) return 'heard'
  return command.number === last + 1 ? 'now' : 'early'
}
