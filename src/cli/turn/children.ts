/**
 * Which children a thread has called, out of its events: what each is called, who is at work, who waits in line.
 * Threads know their children by reference; the list of threads does not.
 *
 * - A child is at work from its call to its report, as its parent has heard of it: a report that is still on its
 *   way is work.
 */
import { defined } from '../../core/defined.js'
import type { Failure, SkeinClient, SkeinEvent, ThreadInfo, Usage } from '../../index.js'
import { childName } from './calls.js'
import type { ShownChildCall } from './calls.js'
import { addedUsage } from '../format.js'

type Reference = Parameters<typeof childName>[0]

interface Parent {
  /** Calls of the step that no child was called for yet, by index. */
  readonly line: Map<number, ShownChildCall>
  /** How many messages each child has not reported on. */
  readonly working: Map<string, number>
}

export type Children = ReturnType<typeof createChildren>

export function createChildren() {
  const parents = new Map<string, Parent>()
  const references = new Map<string, Reference>()
  const reported = new Map<string, Usage>()
  const failures = new Map<string, Failure>()
  const parentOf = (thread: string): Parent => {
    const parent = parents.get(thread) ?? { line: new Map(), working: new Map() }
    parents.set(thread, parent)
    return parent
  }
  return {
    take(event: SkeinEvent): void {
      if (event.type === 'thread.created' && event.child)
        references.set(event.thread, { reference: event.child.reference, ...nameIn(event.tags) })
      if (event.type === 'model.replied' || event.type === 'calls.made') {
        // A call that only speaks to it does not say its name.
        for (const { child } of event.calls)
          if (child && (child.create || !references.has(child.thread))) references.set(child.thread, child)
      }
      // Until it says its name itself, with its first record.
      if (event.type === 'child.restarted' && !references.has(event.child))
        references.set(event.child, { reference: event.reference })
      if (event.type === 'child.reported') {
        for (const usage of event.spent?.byModel ?? []) {
          const before = reported.get(event.child)
          reported.set(event.child, before ? addedUsage(before, usage) : usage)
        }
        // A quiet one is no answer: it says that the child is over.
        if (event.outcome.ok) failures.delete(event.child)
        else if (!event.quiet) failures.set(event.child, event.outcome.failure)
      }
      change(parentOf(event.thread), event)
    },
    /** What its parent calls it. */
    reference: (thread: string): string | undefined => references.get(thread)?.reference,
    /** The same with its name, for people; a thread without a parent is called by its id. */
    label: (thread: string): string => childName(references.get(thread) ?? { reference: thread }),
    /** What it and all below it have spent, as it has told its parent. */
    spent: (thread: string): Usage | undefined => reported.get(thread),
    /** Why its last answer is none. */
    failure: (thread: string): Failure | undefined => failures.get(thread),
    working: (thread: string): readonly string[] => [...parentOf(thread).working.keys()],
    inLine: (thread: string): readonly ShownChildCall[] => [...parentOf(thread).line.values()],
  }
}

function nameIn(tags: readonly string[]): { readonly name?: string } {
  const tag = tags.find((each) => each.startsWith('name:'))
  return tag === undefined ? {} : { name: tag.slice('name:'.length) }
}

function change({ line, working }: Parent, event: SkeinEvent): void {
  switch (event.type) {
    case 'model.replied':
    case 'calls.made':
      event.calls.forEach(({ child, refused }, index) => child && !refused && line.set(index, child))
      break
    case 'child.called': {
      const child = line.get(event.index)
      line.delete(event.index)
      // One that reports only when it likes is not waited for.
      if (child && !event.refused && (child.blocking || child.reports === 'implicit'))
        working.set(child.thread, (working.get(child.thread) ?? 0) + 1)
      break
    }
    case 'child.restarted':
      if (!event.refused) working.set(event.child, 1)
      break
    case 'child.booted':
      if (!event.refused && event.child.reports === 'implicit') working.set(event.child.thread, 1)
      break
    case 'child.reported': {
      // Nobody asked for it.
      if (event.began || event.unasked) break
      const left = (working.get(event.child) ?? 0) - 1
      if (left > 0) working.set(event.child, left)
      else working.delete(event.child)
      break
    }
    case 'children.stopped':
      for (const child of event.children) working.delete(child)
      break
    case 'turn.ended':
    case 'thread.terminated':
      line.clear()
      break
    default:
  }
}

/** A thread and all below it, as the store lists them: in order of creation. */
export async function subtree(
  { threads }: SkeinClient,
  { thread, root }: Pick<ThreadInfo, 'thread' | 'root'>,
): Promise<readonly ThreadInfo[]> {
  const found: ThreadInfo[] = []
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await threads.list({ root, limit: 1_000, ...defined({ cursor }) })
    found.push(...page.threads.filter(({ path }) => path.includes(thread)))
    cursor = page.next
  }
  return found
}
