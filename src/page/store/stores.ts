/**
 * The data of the page: all trees, the inbox, and the trees that are open. Filled by the link and by nothing else, so
 * that no screen knows something that another one does not.
 */
import { signal } from '@preact/signals'
import type { InboxItem } from '../../index.js'
import type { RootRow } from '../../http/view/tree-rows.js'
import type { TreeChanges, TreeSnapshot } from '../../http/view/tree-view.js'
import { pathTo, getJson, toPageProblem } from '../kit/api.js'
import type { PageProblem } from '../kit/api.js'
import { pageClock } from '../kit/clock.js'
import { leaveTree, onLink, followTree } from '../link/link.js'
import { dataChanged } from './flush.js'
import { TreeStore } from './tree-store.js'

export type PageRoot = RootRow & { readonly n: number }

interface RootsMessage {
  readonly epoch: string
  readonly total: number
  readonly rows: readonly PageRoot[]
  readonly isWhole?: boolean
}

/** All trees that the server has told of. */
export const roots = {
  rows: new Map<string, PageRoot>(),
  total: 0,
  /** Undefined: nothing has come yet. */
  epoch: signal<string | undefined>(undefined),
}

function takeRoots({ epoch, total, rows }: RootsMessage): void {
  if (epoch !== roots.epoch.peek()) roots.rows.clear()
  roots.epoch.value = epoch
  for (const row of rows) {
    if ((roots.rows.get(row.thread)?.n ?? 0) >= row.n) continue
    if (row.removed) roots.rows.delete(row.thread)
    else roots.rows.set(row.thread, row)
  }
  roots.total = total
  dataChanged()
}

/** Undefined: not known yet. */
export const inboxItems = signal<readonly InboxItem[] | undefined>(undefined)

export interface OpenTree {
  readonly store: TreeStore
  readonly problem: PageProblem | undefined
  readonly isLoaded: boolean
}

const trees = new Map<string, { readonly tree: ReturnType<typeof signal<OpenTree>>; users: number }>()

/** What came before its snapshot was there is in the snapshot, or comes again. */
async function loadTree(root: string): Promise<void> {
  const entry = trees.get(root)
  if (!entry) return
  const { tree } = entry
  const store = tree.peek()?.store ?? new TreeStore(root)
  try {
    store.load(await getJson<TreeSnapshot>(pathTo`trees/${root}/snapshot`))
    tree.value = { store, problem: undefined, isLoaded: true }
    if (trees.get(root) === entry) followTree(root, store.position)
  } catch (thrown) {
    const problem = toPageProblem(thrown)
    tree.value = { store, problem, isLoaded: tree.peek()?.isLoaded ?? false }
    if (problem.status === 0 || problem.status === 503) pageClock.after(1_000, () => void loadTree(root))
  }
  dataChanged()
}

/** Shared by all that look at one; `release` when it is not looked at any more. */
export function useTree(root: string): { readonly tree: ReturnType<typeof signal<OpenTree>>; release(): void } {
  let entry = trees.get(root)
  if (!entry) {
    const tree = signal<OpenTree>({ store: new TreeStore(root), problem: undefined, isLoaded: false })
    entry = { tree, users: 0 }
    trees.set(root, entry)
    void loadTree(root)
  }
  const held = entry
  held.users++
  return {
    tree: held.tree,
    release() {
      if (--held.users > 0) return
      trees.delete(root)
      leaveTree(root)
    },
  }
}

export function reloadTree(root: string): void {
  void loadTree(root)
}

function takeTree(changes: TreeChanges & { readonly root: string }): void {
  const store = trees.get(changes.root)?.tree.peek()?.store
  if (!store) return
  const applied = store.apply(changes)
  if (applied === 'gap') void loadTree(changes.root)
  if (applied === 'applied') dataChanged()
}

/** For tests: whose numbers this page has of a tree. */
export function epochOf(root: string): string | undefined {
  return trees.get(root)?.tree.peek()?.store.position.epoch
}

/** For tests: what this page knows of a tree, in one word. */
export function digestOf(root: string): string | undefined {
  return trees.get(root)?.tree.peek()?.store.digest()
}

export function startStores(): void {
  onLink('roots', (data) => takeRoots(Object(data)))
  onLink('tree', (data) => takeTree(Object(data)))
  onLink('inbox', (data) => {
    const { items }: { items?: readonly InboxItem[] } = Object(data)
    inboxItems.value = items ?? []
  })
  onLink('reset', (data) => {
    const { of, root }: { of?: string; root?: string } = Object(data)
    if (of === 'tree' && root !== undefined) void loadTree(root)
  })
}
