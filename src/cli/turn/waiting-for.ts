/**
 * What a thread waits for, and the commands that let it go on; also threads that wait for a model which its provider
 * has limited.
 *
 * - A command can be typed as it is printed: it names the store, unless that is the default or comes from the
 *   environment, and is quoted for a shell.
 */
import { defined } from '../../core/defined.js'
import type { InboxItem, SkeinEvent, ThreadInfo, ThreadWait } from '../../index.js'
import { waitsFor } from './call-line.js'
import { clockTime, oneLine, preview } from '../format.js'
import { groupBy } from '../group-by.js'
import { commandLine } from '../store.js'
import type { StoreLocation } from '../store.js'
import type { TurnSummary } from './summary.js'
import { label, visible } from '../visible.js'
import type { AnyClient } from '../store.js'

export type WaitingItem = Omit<InboxItem, 'thread' | 'path' | 'agent'>

/** The calls of a thread that wait for someone. */
export function waitingItems({
  thread,
  reference,
  pending = [],
}: Pick<ThreadInfo, 'thread' | 'reference' | 'pending'>): readonly WaitingItem[] {
  return pending
    .filter(({ why }) => why !== 'children')
    .map((item) => ({ ...item, id: `${thread}/${item.call}`, ...defined({ reference }) }))
}

export function waitingLine({
  call,
  tool,
  args,
  why,
  missing,
  request,
  prompt,
  unknown,
  reference,
}: WaitingItem): string {
  const question = prompt === undefined || prompt.trim() === '' ? '' : `: ${oneLine(prompt, 500)}`
  const child = reference === undefined ? '' : `${label(reference)} › `
  if (request !== undefined) return `${child}a child (${preview(args, 200)}) ${waitsFor(why, missing)}`
  const what = call === 'turn' ? `agent ${label(tool)}` : `${label(tool)} ${preview(args, 200)}`
  return `${child}${what} ${waitsFor(why, missing)}${unknown ? ' to be run again' : ''}${question}`
}

export function inFull(name: string, json: unknown): readonly string[] {
  const [first = '', ...rest] = (JSON.stringify(json, undefined, 2) ?? 'null').split('\n')
  return [`  ${name} ${first}`, ...rest.map((line) => `  ${line}`)]
}

/** The whole call, in lines: nothing is cut of what a person agrees to. */
export function wholeOf(item: WaitingItem): readonly string[] {
  const { id, tool, args, prompt, defaults, reference, forkedFrom } = item
  return [
    `${label(id)}${reference === undefined ? '' : ` (${label(reference)})`}: ${label(tool)}`,
    ...(forkedFrom ? [`  ${forkText(forkedFrom)}`] : []),
    ...inFull('args', args),
    ...(defaults === undefined ? [] : inFull('defaults', defaults)),
    ...questionLines(prompt?.trim() ?? ''),
  ]
}

/** The thread that it was forked from may have made the same call. */
export function forkText({ thread }: NonNullable<WaitingItem['forkedFrom']>): string {
  return `fork of ${label(thread)}`
}

/** Indented, so that no line of the prompt looks like one of ours. */
function questionLines(prompt: string): readonly string[] {
  if (prompt === '') return []
  const [first = '', ...rest] = visible(prompt).split('\n')
  return [`  asks ${first}`, ...rest.map((line) => `       ${line}`)]
}

/** The commands that answer it. */
export function answersTo(
  store: StoreLocation,
  { id, call, why, missing = [], request }: WaitingItem,
): readonly string[] {
  const deny = call === 'turn' ? [] : [commandLine(store, 'skein', 'deny', id)]
  if (why === 'variables') {
    const taker = request === undefined ? id.slice(0, id.lastIndexOf('/')) : id
    return [...missing.map((name) => commandLine(store, 'skein', 'env', taker, '--stdin', name)), ...deny]
  }
  if (why === 'approval') return [commandLine(store, 'skein', 'approve', id), ...deny]
  return why === 'person' ? [`${commandLine(store, 'skein', 'answer', id)} …`, ...deny] : []
}

interface NextStepsOptions {
  readonly store: StoreLocation
  /** The command that goes on with the thread where no other process serves it. */
  readonly goOn?: string
}

/** How many equal waits are listed; the rest is counted. */
const mostAlike = 3

/** What makes two waits equal: the same variables, or the same tool. */
function alikeKey({ id, why, tool, missing = [], request }: WaitingItem): string {
  // Values for a child that has not begun are its own.
  if (request !== undefined) return id
  return why === 'variables' ? `variables ${missing.join()}` : `${why} ${tool}`
}

/** A value that many wait for is given once, to the thread above them all: children inherit it. */
function stepsFor(
  items: readonly WaitingItem[],
  { store, thread }: { readonly store: StoreLocation; readonly thread: string },
): readonly string[] {
  const [first] = items
  if (items.length > 1 && first?.why === 'variables') {
    const { missing = [] } = first
    return [
      `${items.length} calls ${waitsFor('variables', missing).replace('waits', 'wait')}`,
      ...missing.map((name) => `  ${commandLine(store, 'skein', 'env', thread, '--stdin', name)}`),
    ]
  }
  const shown = items.length > mostAlike + 1 ? items.slice(0, mostAlike) : items
  const lines = shown.flatMap((item) => [waitingLine(item), ...answersTo(store, item).map((command) => `  ${command}`)])
  return shown.length === items.length
    ? lines
    : [
        ...lines,
        `… and ${items.length - shown.length} more of ${first?.tool ?? ''}`,
        `  ${commandLine(store, 'skein', 'inbox', '--root', thread)}`,
      ]
}

/** What to do next, for a person who watched a turn until it stood still. */
export function nextSteps(
  {
    thread,
    standstill,
    pending = [],
    pausedChildren = [],
  }: Pick<TurnSummary, 'thread' | 'standstill' | 'pending' | 'pausedChildren'>,
  { store, goOn }: NextStepsOptions,
): readonly string[] {
  if (!standstill) return []
  const people = [...groupBy(pending, alikeKey).values()].flatMap((items) => stepsFor(items, { store, thread }))
  const steps = [
    ...people,
    ...pausedChildren.flatMap((child) => [`a child is paused`, `  ${commandLine(store, 'skein', 'resume', child)}`]),
  ]
  if (standstill === 'paused' && pausedChildren.length === 0)
    return [...steps, `go on with: ${goOn ?? commandLine(store, 'skein', 'resume', thread)}`]
  return goOn === undefined ? steps : [...steps, `then go on with: ${goOn}`]
}

export type ShownModelWait = Pick<ThreadWait, 'model' | 'place' | 'until'>

/** By thread. The hosts know it, not the store; they take a moment to answer, so only thinking threads make us ask. */
export async function modelWaitsOf(
  client: Pick<AnyClient, 'modelWaits'>,
  heads: readonly ThreadInfo[],
): Promise<ReadonlyMap<string, ShownModelWait>> {
  if (!heads.some(({ status }) => status === 'thinking')) return new Map()
  return new Map((await client.modelWaits()).map(({ thread, ...wait }) => [thread, wait]))
}

export function modelWaitLine({ model, place, until }: ShownModelWait): string {
  return `model ${label(model)}: place ${place}, not before ${clockTime(until)}`
}

/** The wait of a thread after one of its events. */
export function waitAfter(event: SkeinEvent, before: ShownModelWait | undefined): ShownModelWait | undefined {
  if (event.type === 'model.waiting') return event.place > 0 ? event : undefined
  return event.type === 'model.replied' || event.type === 'turn.ended' ? undefined : before
}
