/**
 * What a thread waits for, and what to type so that it goes on.
 *
 * AW1 What is offered can be typed as it stands: it names the store, unless that is the default or its environment, and is
 *     quoted for a shell.
 */
import type { InboxItem, StoredHead } from '../index.js'
import { waitsFor } from './call-line.js'
import { oneLine, preview } from './format.js'
import type { Place } from './place.js'
import { typed } from './store.js'
import type { Tally } from './tally.js'

export type Awaited = Omit<InboxItem, 'thread' | 'path' | 'agent'>

/** The calls of a thread that wait for someone. */
export function awaitedOf({ thread, reference, pending = [] }: Pick<StoredHead, 'thread' | 'reference' | 'pending'>): readonly Awaited[] {
  return pending.filter(({ why }) => why !== 'children').map((item) => ({ ...item, id: `${thread}/${item.call}`, ...(reference !== undefined && { reference }) }))
}

export function awaitedLine({ call, tool, args, why, missing, request, prompt, unknown, reference }: Awaited): string {
  const question = prompt === undefined || prompt.trim() === '' ? '' : `: ${oneLine(prompt, 500)}`
  const whose = reference === undefined ? '' : `${reference} › `
  if (request !== undefined) return `${whose}a child (${preview(args, 200)}) ${waitsFor(why, missing)}`
  const what = call === 'turn' ? `agent ${tool}` : `${tool} ${preview(args, 200)}`
  return `${whose}${what} ${waitsFor(why, missing)}${unknown ? ' to be run again' : ''}${question}`
}

/** The commands that answer it. */
export function answersTo(store: Place, { id, why, missing = [], request }: Awaited): readonly string[] {
  if (why === 'variables') return missing.map((name) => typed(store, 'skein', 'env', request === undefined ? id.slice(0, id.lastIndexOf('/')) : id, '--stdin', name))
  if (why === 'approval') return [typed(store, 'skein', 'approve', id), typed(store, 'skein', 'deny', id)]
  return why === 'person' ? [`${typed(store, 'skein', 'answer', id)} …`] : []
}

interface Way {
  readonly store: Place
  /** How the thread goes on where no other process serves it. */
  readonly goOn?: string
}

/** For whoever watched a turn until it stood still. */
export function nextSteps({ thread, standstill, pending = [], pausedChildren = [] }: Pick<Tally, 'thread' | 'standstill' | 'pending' | 'pausedChildren'>, { store, goOn }: Way): readonly string[] {
  if (!standstill) return []
  const people = pending.flatMap((item) => [awaitedLine(item), ...answersTo(store, item).map((command) => `  ${command}`)])
  const asked = [...people, ...pausedChildren.flatMap((child) => [`a child is paused`, `  ${typed(store, 'skein', 'resume', child)}`])]
  if (standstill === 'paused' && pausedChildren.length === 0) return [...asked, `go on with: ${goOn ?? typed(store, 'skein', 'resume', thread)}`]
  return goOn === undefined ? asked : [...asked, `then go on with: ${goOn}`]
}
