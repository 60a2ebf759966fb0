/**
 * What a child says to its parent: how its turns ended, and what its tools say in between.
 *
 * - Whoever waits for an answer to a message is told how the turn ended that has read it, with why it did not
 *   finish (F7); one that was never read, because the thread is over, is told that.
 * - What a body says to the parent counts when its call does, and is sent once, with the record that says so (S7).
 * - Mail of a child is numbered from 1. The parent keeps the last number and nothing else: a mail that it has heard
 *   changes nothing, and one that came early waits for those before it.
 * - An answer to several messages that no call waits for is read once.
 * - The last answer of a child that does not stay says that it is over: no second mail tells that.
 * - A message that its sender takes back before it is read is never read, and is told so at once.
 * - A child that does not stay answers when what it started is done: children that nobody waits for, values that
 *   people were asked for, what came meanwhile. What it says last is the answer. One that did not finish ends at
 *   once, and says what ended with it.
 */
import { brokenText, collectAttachments } from '../../../src/core/attachments.js'
import type { CollectedAttachments } from '../../../src/core/attachments.js'
import { defined } from '../../../src/core/defined.js'
import type { Command } from '../../../src/core/records/command.js'
import type { Outcome } from '../../../src/core/effect.js'
import { failure } from '../../../src/core/failure.js'
import { isObject } from '../../../src/core/json.js'
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
import { endNotice } from '../decide/lifecycle.js'
import { promptResult } from './prompt-result.js'
import { unreported } from '../budget/usage.js'
import { hasEnded, statusOf } from '../state.js'
import type { EndedTurn, PendingReply, Status, ThreadState, Turn } from '../state.js'

/** What is to be told to the parent, or to whoever asked. */
export function dueReport(state: ThreadState): Fact | undefined {
  const { outbox: untold, pendingReplies: owed, turn } = state
  if (untold.length > 0) return { type: 'parent.told', words: untold.map((saying) => wordOf(state, saying)) }
  const back = owed.find(({ withdrawn: why }) => why !== undefined)
  if (back) return untaken(state, back)
  return turn || owed.length === 0 || awaitsDescendants(state) ? undefined : report(state)
}

/** RP7. A prompt makes one request, and no second one for what comes late. */
export function awaitsDescendants(state: ThreadState): boolean {
  const { child, lastTurn, working, retries, requests, queue, queuedCalls } = state
  if (!lastTurn || child?.lasting !== false || child.gives || hasEnded(state) || !finished.has(lastTurn.reason))
    return false
  if (working > 0 || retries.length > 0 || queuedCalls.length > 0 || Object.keys(requests).length > 0) return true
  return queue.some(({ delivery }) => delivery !== 'store')
}

/** As others see it, one that waits for what it started is not idle. */
export function statusReported(state: ThreadState): Status {
  const status = statusOf(state)
  if (status !== 'idle' || !awaitsDescendants(state)) return status
  return state.working > 0 || state.retries.length > 0 || Object.keys(state.requests).length === 0
    ? 'waiting'
    : 'awaiting_variables'
}

/** What the model reads of that. */
function endedWith({ children, toStop, requests }: ThreadState): readonly string[] {
  const stopped = new Set(toStop.map(({ child }) => child))
  const working = [...children].flatMap(([reference, { id, busy, ended: over }]) =>
    busy > 0 && !over && !stopped.has(id) ? [reference] : [],
  )
  const asked = Object.values(requests).map(
    ({ child, missing }) => `${child.reference}, which waited for ${missing.join(', ')}`,
  )
  const all = [...working, ...asked]
  return all.length > 0 ? [`[ended with it: ${all.join('; ')}]`] : []
}

function report(state: ThreadState): Fact | undefined {
  const { pendingReplies: owed, lastTurn, child } = state
  const over = hasEnded(state)
  const ofLast = lastTurn ? owed.filter(({ run }) => run === lastTurn.run) : []
  const last = over || child?.lasting === false
  if (lastTurn && ofLast.length > 0) {
    const outcome = outcomeOf(lastTurn, child?.gives)
    const how = { ...(last && { over: true as const }), ...(lastTurn.reason === 'failed' && { failed: true as const }) }
    const brought = {
      ...filesOf(state, lastTurn, last ? endedWith(state) : []),
      ...unreported(state, ofLast.length === owed.length),
    }
    return { type: 'report.sent', run: lastTurn.run, to: addressesOf(ofLast), outcome, ...how, ...brought }
  }
  const unread = over ? owed : []
  const run = unread[0]?.run ?? unread[0]?.message
  if (run === undefined) return undefined
  return {
    type: 'report.sent',
    run,
    to: addressesOf(unread),
    outcome: {
      ok: false,
      failure: failure(
        'CHILD_FAILED',
        `${unread[0]?.message === endNotice ? '' : 'it did not read this: '}it is ` +
          `${statusOf(state)}${because(state.endedFor)}`,
      ),
    },
    over: true,
    ...unreported(state, true),
  }
}

function untaken(state: ThreadState, { message, withdrawn: why, ...owed }: PendingReply): Fact {
  const failed = failure('CHILD_FAILED', `it did not read this: it was taken back${because(why || undefined)}`)
  const last = state.pendingReplies.length === 1 && !state.turn
  return {
    type: 'report.sent',
    run: message,
    to: addressesOf([{ message, ...owed }]),
    outcome: { ok: false, failure: failed },
    ...unreported(state, last),
  }
}

export function messagesWithdrawn(state: ThreadState, { messages, reason = '' }: MessagesWithdrawn): boolean {
  const meant = new Set(messages)
  state.queue = state.queue.filter(({ message }) => !meant.has(message.id))
  for (const owed of state.pendingReplies) {
    if (!meant.has(owed.message)) continue
    owed.withdrawn = reason
    owed.run = owed.message
  }
  return true
}

function addressesOf(owed: readonly PendingReply[]) {
  const told = new Set<string>()
  return owed.map(({ thread, call, quiet, began }) => {
    const again = call === undefined && told.has(thread)
    if (call === undefined && !quiet) told.add(thread)
    return { thread, ...defined({ call }), ...((quiet ?? again) && { quiet: true as const }), ...defined({ began }) }
  })
}

const because = (why: string | undefined): string => (why === undefined ? '' : ` (${why})`)

/** Reasons that are an answer. */
const finished: ReadonlySet<EndedTurn['reason']> = new Set(['completed', 'empty_reply', 'session_stopped'] as const)

function outcomeOf(ended: EndedTurn, gives: Gives | undefined): Outcome {
  const { reason, text, output, failure: failed, detail } = ended
  // What tools queued is the last that it does.
  if (gives && (reason === 'completed' || reason === 'empty_reply' || reason === 'max_steps'))
    return promptResult(ended, gives)
  if (finished.has(reason)) return { ok: true, value: output ?? text }
  const why = failure(
    'CHILD_FAILED',
    `it did not finish: ${reason}${because(failed?.message ?? detail)}${text === '' ? '' : `. It last said: ${text}`}`,
  )
  return { ok: false, failure: failed ? { ...why, cause: failed } : why }
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

/** AH2: they were there when they were named; one that is gone since is told by name. */
type Brought = Pick<ReportSent, 'attachments' | 'note'>

function filesOf({ files }: ThreadState, { attachments = [] }: EndedTurn, more: readonly string[]): Brought {
  const { there, broken, files: found } = collectAttachments(files, attachments)
  const notes = [...(broken.length > 0 ? [lost(broken)] : []), ...more]
  return {
    ...(there.length > 0 && { attachments: { files: found, paths: there } }),
    ...(notes.length > 0 && { note: notes.join('\n\n') }),
  }
}

const lost = (broken: CollectedAttachments['broken']): string => `[not attached: ${brokenText(broken)}]`

/** The body has seen that its files are there; one that is gone since is told by name. */
function wordOf({ files }: ThreadState, saying: Saying): Word {
  if ('status' in saying) return saying
  const { text, attachments = [] } = saying
  const { there, broken, files: found } = collectAttachments(files, attachments)
  return {
    text: broken.length === 0 ? text : `${text}\n\n${lost(broken)}`,
    ...(there.length > 0 && { attachments: found }),
  }
}

export function applyParentTold(state: ThreadState, { words }: ParentTold): boolean {
  state.outbox = []
  state.mailsToParent++
  for (const word of words) if ('status' in word) state.statusText = word.status
  return true
}

export function applyChildTold(state: ThreadState, { reference, child: id, words, number }: ChildTold): boolean {
  const child = state.children.get(reference)
  if (child?.id !== id) return false
  child.lastMailNumber = number
  words.forEach((word, index) => {
    if ('status' in word) child.statusText = word.status
    else {
      const { text, attachments, media } = withAttachments(state, {
        text: frameChildText(reference, word.text),
        at: state.updatedAt,
        ...(word.attachments && { files: word.attachments }),
      })
      state.queue.push({
        message: {
          id: `told_${state.seq}_${index}`,
          role: 'user',
          text,
          at: state.updatedAt,
          silent: true,
          ...defined({ attachments, media }),
          ...(child.side && { to: child.side }),
        },
        delivery: 'steer',
        from: reference,
      })
    }
  })
  return true
}

export function mailTurn({ children }: ThreadState, command: Command): 'now' | 'heard' | 'early' {
  if ((command.kind !== 'report' && command.kind !== 'tell') || command.number === undefined) return 'now'
  const child = children.get(command.reference)
  if (child?.id !== command.child) return 'now'
  const heard = child.lastMailNumber ?? 0
  return command.number <= heard ? 'heard' : command.number === heard + 1 ? 'now' : 'early'
}
