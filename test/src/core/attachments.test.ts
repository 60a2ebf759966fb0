/** Files that come from other threads: their names here, and what placing thousands of them costs. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { placeAttachments } from '../../../src/core/attachments.js'
import { applyChanges, emptyTree, nodeAt } from '../../../src/core/tree.js'
import type { DirNode, TreeNode } from '../../../src/core/tree.js'
import { LayeredMap } from '../../../src/core/tree/layered-map.js'
import { treeUsage } from '../../../src/core/tree/tree-usage.js'
import { times } from '../../helpers/soak.js'

const file = (size: number): TreeNode => ({ kind: 'file', hash: 'a'.repeat(64), size, mode: 0o644, at: 0 })
const given = (names: readonly string[]): DirNode => ({
  ...emptyTree,
  entries: new Map(names.map((name, index) => [name, file(index)])),
})

function namesIn(tree: DirNode): readonly string[] {
  const there = nodeAt(tree, '/attachments')
  return there?.kind === 'dir' ? [...there.entries.keys()].toSorted() : []
}

/** The first number that is free, looked for among all names. */
function nameOf(name: string, taken: ReadonlySet<string>): string {
  const [, stem = '', ending = ''] = /^(.+?)(\.[^.]*)?$/.exec(name) ?? []
  let free = name
  for (let number = 2; taken.has(free); number++) free = `${stem}-${number}${ending}`
  return free
}

/** Counts how often it is asked for a name. */
class CountingMap extends Map<string, TreeNode> {
  looks = 0

  override has(name: string): boolean {
    this.looks++
    return super.has(name)
  }
}

const names = fc.uniqueArray(fc.constantFrom('a.txt', 'b.txt', 'a-2.txt', 'c'), { minLength: 1 })
const steps = fc.array(fc.oneof(names, fc.nat(20)), { maxLength: 60 })

describe('attachments', () => {
  it('AH1: a name that is taken gets the first number that is free, also after some were removed, and in any branch', () => {
    fc.assert(
      fc.property(steps, fc.nat(59), (all, branch) => {
        let tree: DirNode = emptyTree
        let taken = new Set<string>()
        let kept: { tree: DirNode; taken: Set<string> } | undefined
        const place = (some: readonly string[]): void => {
          const wanted = some.map((name) => {
            const free = nameOf(name, taken)
            taken.add(free)
            return `/attachments/${free}`
          })
          const placed = placeAttachments(tree, given(some), 0)
          tree = placed.tree
          expect([...placed.paths.values()]).toEqual(wanted)
        }
        for (const [index, each] of all.entries()) {
          if (index === branch) kept = { tree, taken: new Set(taken) }
          if (typeof each !== 'number') place(each)
          else {
            const gone = namesIn(tree)[each]
            if (gone === undefined) continue
            tree = applyChanges(tree, [{ op: 'gone', path: `/attachments/${gone}` }], 0)
            taken.delete(gone)
          }
          expect(namesIn(tree)).toEqual([...taken].toSorted())
        }
        if (!kept) return
        // Another way from an earlier tree: what the first one has placed is not there.
        tree = kept.tree
        taken = kept.taken
        place(['a.txt', 'c'])
      }),
      { numRuns: times(300, 2_000) },
    )
  })

  it('FT1: one more of a name that thousands have looks at a few names, and copies a few', () => {
    const known = new CountingMap(
      Array.from({ length: 3_000 }, (_, n) => [n === 0 ? 'out.txt' : `out-${n + 1}.txt`, file(1)]),
    )
    let tree: DirNode = { ...emptyTree, entries: new Map([['attachments', { ...emptyTree, entries: known }]]) }
    const place = (): void => {
      tree = placeAttachments(tree, given(['out.txt']), 0).tree
    }
    place() // tries all numbers, since nobody knows them yet
    known.looks = 0
    for (let each = 0; each < 40; each++) place()
    expect(known.looks).toBeLessThan(40 * 10)
    const there = nodeAt(tree, '/attachments')
    const entries = there?.kind === 'dir' ? there.entries : undefined
    expect(entries).toBeInstanceOf(LayeredMap)
    expect(entries).toMatchObject({ base: known, size: 3_041 })
    expect(entries?.has('out-3041.txt')).toBe(true)
  })

  it('the usage of a large directory is the sum of what is in it, whatever was changed', () => {
    const change = fc.tuple(fc.nat(400), fc.constantFrom('file', 'gone', 'dir', 'deep'))
    fc.assert(
      fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
        let tree = placeAttachments(emptyTree, given(Array.from({ length: 300 }, (_, n) => `f${n}`)), 0).tree
        for (const [n, kind] of changes) {
          const path = `/attachments/f${n}`
          const hash = 'b'.repeat(64)
          if (kind === 'file') tree = applyChanges(tree, [{ op: 'file', path, hash, size: n }], 0)
          else if (kind === 'deep') tree = applyChanges(tree, [{ op: 'file', path: `${path}/x`, hash, size: 7 }], 0)
          else tree = applyChanges(tree, [{ op: kind === 'dir' ? 'dir' : 'gone', path }], 0)
          expect(treeUsage(tree)).toEqual(counted(tree))
        }
      }),
      { numRuns: times(30, 300) },
    )
  })
})

function counted(dir: DirNode): { bytes: number; files: number; names: number } {
  const sum = { bytes: 0, files: 0, names: 0 }
  for (const node of dir.entries.values()) {
    sum.names++
    if (node.kind === 'file') {
      sum.bytes += node.size
      sum.files++
    }
    if (node.kind !== 'dir') continue
    const below = counted(node)
    sum.bytes += below.bytes
    sum.files += below.files
    sum.names += below.names
  }
  return sum
}
