/** Properties of merges of any trees. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emptyTree, freezeTree, nodeAt, thawTree } from '../../../src/core/tree.js'
import type { DirNode, TreeNode } from '../../../src/core/tree.js'
import type { Conflict } from '../../../src/files/merge/conflicts.js'
import { edited, textOf, plain, walk, plainTree, merged, poem } from './merging.js'
import type { Edit, Trees } from './merging.js'

const name = fc.constantFrom('a', 'b', 'c', '__proto__')
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `/${names.join('/')}`)
/** Versions of one text, most of which merge, and some other contents. */
const body = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.nat(8), fc.constantFrom('', '!', '?'))
      .map(([changed, end]) =>
        poem(...Array.from({ length: 9 }, (_, line) => (line === changed ? `${line}${end}` : `${line}`))),
      ),
  },
  fc.constantFrom('', 'x', 'bin\0ary', '\xff'),
)
const mode = fc.constantFrom(0o600, 0o644, 0o755)
const editsBelow = (top: string, maxLength: number): fc.Arbitrary<readonly Edit[]> => {
  const at = path.map((below) => top + below)
  const edit: fc.Arbitrary<Edit> = fc.oneof(
    { weight: 5, arbitrary: fc.record({ write: at, text: body, mode }, { requiredKeys: ['write', 'text'] }) },
    { weight: 8, arbitrary: fc.record({ write: fc.constantFrom(`${top}/a`, `${top}/b`), text: body }) },
    fc.record({ link: at, target: name }),
    fc.record({ dir: at, mode }, { requiredKeys: ['dir'] }),
    fc.record({ of: at, mode }),
    { weight: 2, arbitrary: fc.record({ gone: at }) },
  )
  return fc.array(edit, { maxLength, size: 'max' })
}
const edits = (maxLength: number): fc.Arbitrary<readonly Edit[]> => editsBelow('', maxLength)
/** The same tree, of which nothing is shared, from another time. */
const copyOf = (tree: DirNode): DirNode => thawTree(freezeTree(tree))

async function treesOf([base, ours, theirs]: readonly (readonly Edit[])[]): Promise<Trees> {
  const start = await edited(emptyTree, base ?? [])
  return { base: start, ours: await edited(start, ours ?? []), theirs: await edited(start, theirs ?? []) }
}
/** Texts to begin with, so that they meet. */
const texts = ['a', 'b', 'c'].map((last): Edit => ({
  write: `/${last}`,
  text: poem(...Array.from({ length: 9 }, (_, line) => `${line}`)),
}))
const trees = fc.tuple(
  edits(6).map((list) => [...list, ...texts]),
  edits(5),
  edits(5),
)

describe('any trees', () => {
  it('without a change on one side the merge is the other side', async () => {
    await fc.assert(
      fc.asyncProperty(edits(10), edits(6), fc.boolean(), async (first, then, copied) => {
        const { base, ours: side } = await treesOf([first, then])
        const still = copied ? copyOf(base) : base
        const taken = await merged({ base, ours: still, theirs: side })
        expect(plainTree(taken.tree)).toEqual(plainTree(side))
        expect(taken.conflicts).toEqual([])
        expect(await merged({ base, ours: side, theirs: still })).toEqual({ changes: [], conflicts: [], tree: side })
      }),
      { numRuns: 300 },
    )
  })

  it('what both sides did is there already', async () => {
    await fc.assert(
      fc.asyncProperty(edits(10), edits(6), async (first, then) => {
        const { base, ours } = await treesOf([first, then])
        expect(await merged({ base, ours, theirs: copyOf(ours) })).toEqual({ changes: [], conflicts: [], tree: ours })
      }),
      { numRuns: 300 },
    )
  })

  it('changes in different places give the same tree both ways', async () => {
    const [below, beside] = [editsBelow('/p', 6), editsBelow('/q', 6)]
    await fc.assert(
      fc.asyncProperty(fc.tuple(below, beside), below, beside, async (first, ours, theirs) => {
        const { base, ...sides } = await treesOf([first.flat(), ours, theirs])
        const there = await merged({ base, ...sides })
        const back = await merged({ base, ours: sides.theirs, theirs: sides.ours })
        expect([there.conflicts, back.conflicts]).toEqual([[], []])
        expect(plainTree(there.tree)).toEqual(plainTree(back.tree))
      }),
      { numRuns: 200 },
    )
  })

  it('a merge without conflicts is the same both ways, and so are the paths of conflicts', async () => {
    let clean = 0
    await fc.assert(
      fc.asyncProperty(trees, async (lists) => {
        const { base, ours, theirs } = await treesOf(lists)
        const there = await merged({ base, ours, theirs })
        const back = await merged({ base, ours: theirs, theirs: ours })
        expect(back.conflicts.map(({ path: at, kind }) => [at, kind])).toEqual(
          there.conflicts.map(({ path: at, kind }) => [at, kind]),
        )
        if (there.conflicts.length > 0) return
        expect(plainTree(there.tree)).toEqual(plainTree(back.tree))
        if (there.changes.length > 0 && back.changes.length > 0) clean++
      }),
      { numRuns: 500 },
    )
    expect(clean).toBeGreaterThan(60)
  })

  it('whether parts are shared makes no difference', async () => {
    await fc.assert(
      fc.asyncProperty(trees, async (lists) => {
        const all = await treesOf(lists)
        const { tree: _tree, ...outcome } = await merged(all)
        const { tree: _other, ...copied } = await merged({
          base: copyOf(all.base),
          ours: copyOf(all.ours),
          theirs: copyOf(all.theirs),
        })
        expect(copied).toEqual(outcome)
      }),
      { numRuns: 300 },
    )
  })

  it('every path holds what the rule says, and every changed content of either side is somewhere', async () => {
    const seen = { merges: 0, conflicts: 0 }
    await fc.assert(
      fc.asyncProperty(trees, async (lists) => {
        const all = await treesOf(lists)
        const { tree, conflicts } = await merged(all)
        seen.conflicts += conflicts.length
        const { wrong, merges } = checkPaths(all, tree, conflicts)
        expect(wrong).toEqual([])
        seen.merges += merges
      }),
      { numRuns: 1000 },
    )
    // Both happen often: else the property would prove little.
    expect(seen.merges).toBeGreaterThan(40)
    expect(seen.conflicts).toBeGreaterThan(100)
  })
})

const linesOf = (node: TreeNode | undefined): readonly string[] =>
  node?.kind === 'file' ? textOf(node.hash).split('\n') : []

/** The nodes of a path in all trees of a merge, and in its result. */
interface NodesAt {
  readonly base: TreeNode | undefined
  readonly ours: TreeNode | undefined
  readonly theirs: TreeNode | undefined
  readonly now: TreeNode | undefined
}

/** Goes through a merge path by path: what is wrong, and how many texts were merged. */
function checkPaths(
  all: Trees,
  tree: DirNode,
  conflicts: readonly Conflict[],
): { readonly wrong: readonly string[]; readonly merges: number } {
  const hashes = new Set([...walk(tree).values()].flatMap((node) => (node.kind === 'file' ? [node.hash] : [])))
  const wrong: string[] = []
  let merges = 0
  for (const at of new Set([all.base, all.ours, all.theirs].flatMap((each) => [...walk(each).keys()]))) {
    const nodes: NodesAt = {
      base: nodeAt(all.base, at),
      ours: nodeAt(all.ours, at),
      theirs: nodeAt(all.theirs, at),
      now: nodeAt(tree, at),
    }
    const sides = mergedTexts(nodes, hashes)
    merges += sides.length
    for (const side of sides) if (isLost(side, nodes)) wrong.push(`${at} has lost ${plain(side)}`)
    const inConflict = conflicts.some((conflict) => at === conflict.path || at.startsWith(`${conflict.path}/`))
    if (!inConflict && !followsRule(nodes))
      wrong.push(`${at} is ${plain(nodes.now)}, not of ${[nodes.base, nodes.ours, nodes.theirs].map(plain).join(', ')}`)
  }
  return { wrong, merges }
}

/** Changed files of either side that are nowhere in the result as they are: they must be part of a merged text. */
function mergedTexts({ base, ours, theirs }: NodesAt, hashes: ReadonlySet<string>): readonly TreeNode[] {
  return [ours, theirs].flatMap((side) => {
    if (side?.kind !== 'file' || hashes.has(side.hash)) return []
    return base?.kind === 'file' && base.hash === side.hash ? [] : [side]
  })
}

/** Every line that the side wrote must be in the merged text. */
function isLost(side: TreeNode, { base, now }: NodesAt): boolean {
  const known = new Set([...linesOf(base), ...linesOf(now)])
  return now?.kind !== 'file' || linesOf(side).some((line) => !known.has(line))
}

function followsRule({ base, ours, theirs, now }: NodesAt): boolean {
  // A directory also stands for what is in it.
  if (now?.kind === 'dir' && now.entries.size > 0 && (ours?.kind === 'dir' || theirs?.kind === 'dir')) return true
  const [was, here, there, is] = [base, ours, theirs, now].map(plain)
  if (there === was || there === here) return is === here
  return here !== was || is === there
}
