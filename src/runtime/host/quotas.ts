/**
 * Quotas per tag: how many trees with a tag (a tenant, say) may live, and how many of them may work at once. Owned by
 * the host, which is the only one that creates threads in its store.
 *
 * - Trees are counted once when the host opens the store, then as records are folded: no create looks at other threads.
 * - A command that a quota refuses changes nothing and may be sent again. Nothing that was accepted is refused later:
 *   turns that begin by themselves (a schedule, a child's answer) are counted, and continue.
 */
import { isStoppedByBudget, mayResume } from '../../../actors/thread/budget/grants.js'
import { hasEnded } from '../../../actors/thread/state.js'
import { wasCutOff } from '../../../actors/thread/decide/lifecycle.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Backend, StoredHead } from '../../backend/port.js'
import type { Command } from '../../core/records/command.js'
import { SkeinError, failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { ThreadRecord } from '../../core/records/record.js'

export interface Quota {
  /** Trees with the tag that are neither done nor terminated. */
  readonly maxLiveTrees?: number
  /** Trees with the tag whose root is in a turn. */
  readonly maxRunningTurns?: number
}

/** By tag; `tenant:*` is for every tag that begins with `tenant:`, each by itself. */
export type QuotaRules = Readonly<Record<string, Quota>>

interface Count {
  readonly quota: Quota
  readonly live: Set<string>
  readonly running: Set<string>
}

const atRest: ReadonlySet<string> = new Set(['created', 'idle', 'failed', 'paused'])

export class Quotas {
  readonly #exact: ReadonlyMap<string, Quota>
  readonly #patterns: readonly { readonly prefix: string; readonly quota: Quota }[]
  readonly #counts = new Map<string, Count>()
  /** The first tag of a living tree that has a quota. */
  readonly #tags = new Map<string, string>()

  private constructor(rules: QuotaRules) {
    const all = Object.entries(rules)
    this.#exact = new Map(all.filter(([tag]) => !tag.endsWith('*')))
    // The longest prefix is the most precise.
    const patterns = all.flatMap(([tag, quota]) => (tag.endsWith('*') ? [{ prefix: tag.slice(0, -1), quota }] : []))
    this.#patterns = patterns.sort((a, b) => b.prefix.length - a.prefix.length)
  }

  static async load(rules: QuotaRules, { heads, leases, name }: Backend): Promise<Quotas> {
    if (leases.shared)
      throw new SkeinError(
        'BAD_OPTION',
        `quotas are counted by one host, and a ${name} store may have several; leave them out, or use local(folder)`,
      )
    const quotas = new Quotas(rules)
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await heads.list(cursor === undefined ? {} : { cursor })
      for (const head of page.heads) quotas.#load(head)
      cursor = page.next
    }
    return quotas
  }

  #load({ thread, parent, tags, status }: StoredHead): void {
    if (parent !== undefined || status === 'done' || status === 'terminated') return
    this.#tag(thread, tags)
    for (const { live, running } of this.#of(tags).values()) {
      live.add(thread)
      if (!atRest.has(status)) running.add(thread)
    }
  }

  #tag(tree: string, tags: readonly string[]): void {
    const [tag] = this.#of(tags).keys()
    if (tag !== undefined) this.#tags.set(tree, tag)
  }

  /** Trees with the same tag share one part of the workers. */
  tagOf(tree: string): string | undefined {
    return this.#tags.get(tree)
  }

  #of(tags: readonly string[]): ReadonlyMap<string, Count> {
    const found = new Map<string, Count>()
    for (const tag of tags) {
      const known = this.#counts.get(tag)
      const quota =
        known?.quota ?? this.#exact.get(tag) ?? this.#patterns.find(({ prefix }) => tag.startsWith(prefix))?.quota
      if (!quota) continue
      const count = known ?? { quota, live: new Set(), running: new Set() }
      this.#counts.set(tag, count)
      found.set(tag, count)
    }
    return found
  }

  /** Why the command is refused, if it is. */
  refusal(state: ThreadState, command: Command): Failure | undefined {
    if (command.kind === 'create') return state.seq === 0 ? this.#tooManyTrees(command) : undefined
    return startsTurn(state, command) ? this.#tooManyTurns(state) : undefined
  }

  #tooManyTrees({ tags, parent }: Extract<Command, { kind: 'create' }>): Failure | undefined {
    if (parent !== undefined) return undefined
    for (const [tag, { quota, live }] of this.#of(tags)) {
      const { maxLiveTrees: most } = quota
      if (most !== undefined && live.size >= most)
        return reached(`${tag} has ${live.size} trees, and ${most} may live at once; end or delete some first`, tag)
    }
    return undefined
  }

  #tooManyTurns({ id, tags }: ThreadState): Failure | undefined {
    for (const [tag, { quota, running }] of this.#of(tags)) {
      const { maxRunningTurns: most } = quota
      if (most !== undefined && running.size >= most && !running.has(id))
        return reached(
          `${tag} has ${running.size} trees at work, and ${most} may be at once; try again when one of them is done`,
          tag,
        )
    }
    return undefined
  }

  /** To be called after every record. */
  note({ id, parent, tags }: ThreadState, { type }: ThreadRecord): void {
    if (parent !== undefined || !noted.has(type)) return
    if (isCreation(type)) this.#tag(id, tags)
    else if (type === 'thread.ended' || type === 'thread.terminated') this.#tags.delete(id)
    for (const { live, running } of this.#of(tags).values()) {
      if (isCreation(type)) live.add(id)
      else if (type === 'turn.started') running.add(id)
      else {
        running.delete(id)
        if (type !== 'turn.ended') live.delete(id)
      }
    }
  }
}

const noted: ReadonlySet<ThreadRecord['type']> = new Set([
  'thread.created',
  'thread.based',
  'turn.started',
  'turn.ended',
  'thread.ended',
  'thread.terminated',
])

const isCreation = (type: ThreadRecord['type']): boolean => type === 'thread.created' || type === 'thread.based'

/** Whether the command begins a turn of a root. */
function startsTurn(state: ThreadState, command: Command): boolean {
  if (state.parent !== undefined || state.turn || hasEnded(state)) return false
  switch (command.kind) {
    case 'call':
      return true
    case 'message':
      return command.delivery !== 'store'
    case 'resume':
      return state.position.work === 'failed' || mayResume(state) || wasCutOff(state)
    case 'grant':
      return command.resume === true && command.child === undefined && isStoppedByBudget(state)
    default:
      return false
  }
}

function reached(message: string, tag: string): Failure {
  return failure('QUOTA_REACHED', `nothing was changed: ${message}`, { retry: true, data: { tag } })
}
