/**
 * The names of threads in the state of a thread whose whole tree is forked: its children, its parent and the mail
 * between them are those of the copies (RB2: no thread of the source is spoken to).
 *
 * - Ids of mail begin with the name of its sender: mail on its way and the calls that wait for it stay together.
 */
import type { ChildCall } from '../../../src/core/records/record.js'
import type { TreeRename } from '../../../src/core/records/travel.js'
import { renamedThread } from '../../../src/core/records/travel.js'
import { noItems } from '../../../src/core/lists.js'
import type { SupervisedCall } from '../children/start.js'
import type { Child, ThreadState } from '../state.js'

/** `id`: its name in the source. */
export function renameTree(state: ThreadState, id: string, tree: TreeRename): void {
  const rename = (thread: string): string => renamedThread(tree, thread)
  const renameKey = (key: string): string => renamedKey(tree, key)
  const isTop = id === tree.top
  renameCalls(state, rename)
  for (const child of state.children.values()) renameChild(child, rename, renameKey)
  for (const letter of Object.values(state.dead))
    Object.assign(letter, { charge: renamedCharge(letter.charge, rename, renameKey) })
  state.toStop = state.toStop.map(({ child, message, ...stop }) => ({
    ...stop,
    child: rename(child),
    ...(message !== undefined && { message: renameKey(message) }),
  }))
  state.pendingReplies = isTop
    ? []
    : state.pendingReplies.map((reply) => ({
        ...reply,
        thread: rename(reply.thread),
        message: renameKey(reply.message),
        ...(reply.run !== undefined && { run: renameKey(reply.run) }),
      }))
  if (state.turn) state.turn = { ...state.turn, run: renameKey(state.turn.run) }
  if (state.lastTurn) state.lastTurn = { ...state.lastTurn, run: renameKey(state.lastTurn.run) }
  state.queue = state.queue.map((queued) => ({
    ...queued,
    message: { ...queued.message, id: renameKey(queued.message.id) },
  }))
  if (isTop) leaveParent(state)
}

/** A key of mail, or the id of a message that came with it: the sender's name, and what it is about. */
export function renamedKey(tree: TreeRename, key: string): string {
  const slash = key.indexOf('/')
  const isOfThread = slash > 0 && (key.startsWith('c_') || key.slice(0, slash) === tree.top)
  return !isOfThread ? key : `${renamedThread(tree, key.slice(0, slash))}${key.slice(slash)}`
}

/** The top of what is copied may have had a parent. */
function leaveParent(state: ThreadState): void {
  state.outbox = noItems
  state.mailsToParent = 0
  state.parentKnowsEnd = false
  state.unreported = noItems
  state.effects = 0
  delete state.statusText
}

type Rename = (name: string) => string

export function renameCalls(state: ThreadState, rename: Rename): void {
  for (const slot of state.slots.items)
    if (slot.call.child) slot.call = { ...slot.call, child: renamedCall(slot.call.child, rename) }
  state.queuedCalls = state.queuedCalls.map((queued) =>
    queued.call.child ? { ...queued, call: { ...queued.call, child: renamedCall(queued.call.child, rename) } } : queued,
  )
  for (const [request, deferred] of Object.entries(state.requests))
    state.requests[request] = { ...deferred, child: renamedCall(deferred.child, rename) }
}

function renamedCall(call: ChildCall, rename: Rename): ChildCall {
  return { ...call, thread: rename(call.thread) }
}

function renameChild(child: Child, rename: Rename, renameKey: Rename): void {
  child.id = rename(child.id)
  if (child.first !== undefined) child.first = rename(child.first)
  if (child.earlierMail)
    child.earlierMail = Object.fromEntries(Object.entries(child.earlierMail).map(([id, last]) => [rename(id), last]))
  if (child.supervised) child.supervised = renamedCharge(child.supervised, rename, renameKey)
}

function renamedCharge(charge: SupervisedCall, rename: Rename, renameKey: Rename): SupervisedCall {
  return { ...charge, key: renameKey(charge.key), call: renamedCall(charge.call, rename) }
}
