/**
 * Who asks, and what they may do: scopes, and the trees that they are bound to. What a principal may not see does not
 * exist for it: the answer has the same words as for a thread that is not there.
 */
import type { SkeinClient, ThreadInfo } from '../../index.js'
import { HttpProblem, unknownThread } from '../problem.js'

/** `write` includes `read`, `admin` all; `approve` is apart, so that who decides need not be who writes. */
export type Scope = 'read' | 'write' | 'approve' | 'admin'

export const scopes: readonly Scope[] = ['read', 'write', 'approve', 'admin']

export interface Principal {
  /** Recorded as `by` of what it decides. */
  readonly name: string
  readonly scopes: readonly Scope[]
  /** Only these trees, by their roots. */
  readonly roots?: readonly string[]
  /** Only trees whose root has one of these tags; what it creates gets all of them. */
  readonly tags?: readonly string[]
  /** When it is over, in milliseconds since 1970: streams end then. Default: never. */
  readonly ends?: number
}

/** Who may do everything: where authentication is switched off, on loopback. */
export const everyone: Principal = { name: 'local', scopes: ['admin'] }

export function hasScope({ scopes: held }: Principal, scope: Scope): boolean {
  return held.includes('admin') || held.includes(scope) || (scope === 'read' && held.includes('write'))
}

export function checkScope(principal: Principal, scope: Scope): void {
  if (hasScope(principal, scope)) return
  throw new HttpProblem(
    { status: 403, code: 'FORBIDDEN' },
    `this needs the scope ${scope}; the key ${JSON.stringify(principal.name)} has: ` +
      (principal.scopes.join(', ') || 'none'),
  )
}

export function isBound({ roots, tags }: Principal): boolean {
  return roots !== undefined || tags !== undefined
}

/** Something that belongs to no tree, such as the list of hosts. */
export function checkUnbound(principal: Principal): void {
  if (isBound(principal))
    throw new HttpProblem(
      { status: 403, code: 'FORBIDDEN' },
      `the key ${JSON.stringify(principal.name)} is bound to some trees, and this is about all of them`,
    )
}

interface Access {
  readonly scope: Scope
  /** What is asked for belongs to the tree of this thread. */
  readonly thread?: string
}

/** Throws where the principal has not the scope, and, as for a thread that is not there, where it is not its tree. */
export async function checkAccess(skein: SkeinClient, principal: Principal, { scope, thread }: Access): Promise<void> {
  checkScope(principal, scope)
  if (thread !== undefined) await createTreeGuard(skein, principal).checkThread(thread)
}

/** Which trees a principal sees, as far as one request asks. */
export interface TreeGuard {
  seesRoot(root: string): Promise<boolean>
  /** Throws as for a thread that is not there. */
  checkThread(thread: string): Promise<void>
  visible(threads: readonly ThreadInfo[]): Promise<readonly ThreadInfo[]>
}

export function createTreeGuard(skein: SkeinClient, principal: Principal): TreeGuard {
  const { roots, tags } = principal
  const known = new Map<string, Promise<boolean>>()
  const look = async (root: string): Promise<boolean> => {
    if (roots && !roots.includes(root)) return false
    if (!tags) return true
    const thread = await skein.threads.get(root).catch(() => undefined)
    return thread !== undefined && thread.tags.some((tag) => tags.includes(tag))
  }
  const seesRoot = (root: string): Promise<boolean> => {
    const asked = known.get(root) ?? look(root)
    known.set(root, asked)
    return asked
  }
  return {
    seesRoot,
    async checkThread(thread) {
      if (!isBound(principal)) return
      const found = await skein.threads.get(thread).catch(() => undefined)
      const info = await found?.info().catch(() => undefined)
      if (!info || !(await seesRoot(info.root))) throw unknownThread(thread)
    },
    async visible(threads) {
      if (!isBound(principal)) return threads
      const seen = await Promise.all(threads.map(({ root }) => seesRoot(root)))
      return threads.filter((_, index) => seen[index])
    },
  }
}

/** What the principal may see of things that belong to trees. */
export async function visibleOf<Item extends { readonly path: readonly string[] }>(
  { skein, principal }: { readonly skein: SkeinClient; readonly principal: Principal },
  items: readonly Item[],
): Promise<readonly Item[]> {
  if (!isBound(principal)) return items
  const guard = createTreeGuard(skein, principal)
  const seen = await Promise.all(items.map(({ path }) => guard.seesRoot(path[0] ?? '')))
  return items.filter((_, index) => seen[index])
}
