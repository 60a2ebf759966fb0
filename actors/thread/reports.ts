/**
 * What a child says to its parent: how its turns ended, and what its tools say in between.
 *
 * RP1 Whoever waits for an answer to a message is told how the turn ended that has read it, with why it did not finish (F7);
 *     one that was never read, because the thread is over, is told that.
 * RP2 What a body says to the parent counts when its call does, and is sent once, with the record that says so (S7).
 * RP3 Mail of a child is numbered from 1. The parent keeps the last number and nothing else: a mail that it has heard changes
 *     nothing, and one that came early waits for those before it (CM3).
 * RP4 An answer to several messages that no call waits for is read once.
 * RP5 The last answer of a child that does not stay says that it is over: no second mail tells that.
 */
import { collect } from '../../src/core/attachments.js'
import type { Command } from '../../src/core/command.js'
import type { Outcome } from '../../src/core/effect.js'
import { failure } from '../../src/core/failure.js'
import { isObject } from '../../src/core/json.js'
import type { AnswerFiles, ChildTold, Fact, Gives, ParentTold, Saying, Word } from '../../src/core/record.js'
import { freezeTree } from '../../src/core/tree.js'
import type { DirNode, FrozenTree } from '../../src/core/tree.js'
import { attached } from './attach.js'
import { endNotice } from './life.js'
import { promptResult } from './prompt-result.js'
import { unreported } from './spending.js'
import { isOver, statusOf } from './state.js'
import type { EndedTurn, Owed, ThreadState, Turn } from './state.js'

/** What is to be told to the parent, or to whoever asked. */
export function dueReport(state: ThreadState): Fact | undefined {
  const { untold, owed, turn } = state
  if (untold.length > 0) return { type: 'parent.told', words: untold.map((saying) => wordOf(state, saying)) }
  return turn || owed.length === 0 ? undefined : report(state)
}

/** RP1 */
function report(state: ThreadState): Fact | undefined {
  const { owed, lastTurn, child } = state
  const over = isOver(state)
  const ofLast = lastTurn ? owed.filter(({ run }) => run === lastTurn.run) : []
  const last = over || child?.lasting === false
  if (lastTurn && ofLast.length > 0) return { type: 'report.sent', run: lastTurn.run, to: addressesOf(ofLast), outcome: outcomeOf(lastTurn, child?.gives), ...filesOf(state, lastTurn), ...(last && { over: true }), ...(lastTurn.reason === 'failed' && { failed: true }), ...unreported(state, ofLast.length === owed.length) }
  const unread = over ? owed : []
  const run = unread[0]?.run ?? unread[0]?.message
  if (run === undefined) return undefined
  return { type: 'report.sent', run, to: addressesOf(unread), outcome: { ok: false, failure: failure('CHILD_FAILED', `${unread[0]?.message === endNotice ? '' : 'it did not read this: '}it is ${statusOf(state)}${because(state.endedFor)}`) }, over: true, ...unreported(state, true) }
}

/** RP4 */
function addressesOf(owed: readonly Owed[]) {
  const told = new Set<string>()
  return owed.map(({ thread, call, quiet }) => {
    const again = call === undefined && told.has(thread)
    if (call === undefined && !quiet) told.add(thread)
    return { thread, ...(call !== undefined && { call }), ...((quiet ?? again) && { quiet: true as const }) }
  })
}

const because = (why: string | undefined): string => (why === undefined ? '' : ` (${why})`)

function outcomeOf(ended: EndedTurn, gives: Gives | undefined): Outcome {
  const { reason, text, output, failure: failed, detail } = ended
  // What tools queued is the last that it does.
  if (gives && (reason === 'completed' || reason === 'empty_reply' || reason === 'max_steps')) return promptResult(ended, gives)
  if (reason === 'completed' || reason === 'empty_reply' || reason === 'session_stopped') return { ok: true, value: output ?? text }
  const why = failure('CHILD_FAILED', `it did not finish: ${reason}${because(failed?.message ?? detail)}${text === '' ? '' : `. It last said: ${text}`}`)
  return { ok: false, failure: failed ? { ...why, cause: failed } : why }
}

/** Files that go with the answer of this turn: those that its tools gave, and those that its output names. */
export function answerFiles({ attachments = [], output }: Partial<Pick<Turn, 'attachments' | 'output'>>): { readonly attachments?: readonly string[] } {
  const named = isObject(output) && Array.isArray(output['attachments']) ? output['attachments'].filter((path) => typeof path === 'string' && path.startsWith('/')) : []
  const all = [...new Set([...attachments, ...named])]
  return all.length > 0 ? { attachments: all } : {}
}

/** AH2: they were there when they were named; one that is gone since is told by name. */
function filesOf({ files }: ThreadState, { attachments = [] }: EndedTurn): { readonly attachments?: AnswerFiles; readonly note?: string } {
  if (attachments.length === 0) return {}
  const { there, gone, found } = present(files, attachments)
  return { ...(found && { attachments: { files: found, paths: there } }), ...(gone.length > 0 && { note: lost(gone) }) }
}

const lost = (gone: readonly string[]): string => `[no longer there: ${gone.join(', ')}]`

function present(files: DirNode, paths: readonly string[]): { readonly there: readonly string[]; readonly gone: readonly string[]; readonly found?: FrozenTree } {
  const there = paths.filter((path) => 'files' in collect(files, [path]))
  const found = collect(files, there)
  return { there, gone: paths.filter((path) => !there.includes(path)), ...(there.length > 0 && 'files' in found && { found: freezeTree(found.files) }) }
}

/** The body has seen that its files are there; one that is gone since is told by name. */
function wordOf({ files }: ThreadState, saying: Saying): Word {
  if ('status' in saying) return saying
  const { text, attachments = [] } = saying
  const { gone, found } = present(files, attachments)
  return { text: gone.length === 0 ? text : `${text}\n\n${lost(gone)}`, ...(found && { attachments: found }) }
}

export function parentTold(state: ThreadState, { words }: ParentTold): boolean {
  state.untold = []
  state.told++
  for (const word of words) if ('status' in word) state.says = word.status
  return true
}

/** RP2 */
export function childTold(state: ThreadState, { reference, child: id, words, number }: ChildTold): boolean {
  const child = state.children.get(reference)
  if (child?.id !== id) return false
  child.heard = number
  words.forEach((word, index) => {
    if ('status' in word) child.says = word.status
    else {
      const { text, attachments } = attached(state, { text: `[${reference}] ${word.text}`, at: state.updatedAt, ...(word.attachments && { files: word.attachments }) })
      state.queue.push({ message: { id: `told_${state.seq}_${index}`, role: 'user', text, at: state.updatedAt, silent: true, ...(attachments && { attachments }), ...(child.side && { to: child.side }) }, delivery: 'steer' })
    }
  })
  return true
}

/** RP3 */
export function turnOf({ children }: ThreadState, command: Command): 'now' | 'heard' | 'early' {
  if ((command.kind !== 'report' && command.kind !== 'tell') || command.number === undefined) return 'now'
  const child = children.get(command.reference)
  if (child?.id !== command.child) return 'now'
  const heard = child.heard ?? 0
  return command.number <= heard ? 'heard' : command.number === heard + 1 ? 'now' : 'early'
}
