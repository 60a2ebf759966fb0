/** The tree of a thread's files: changes, tokens, sums and the plain form. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FileChange, Look } from '../../../src/core/records/change.js'
import {
  applyChanges,
  editTree,
  emptyTree,
  freezeTree,
  nodeAt,
  observe,
  stale,
  thawTree,
} from '../../../src/core/tree.js'
import { treeUsage } from '../../../src/core/tree/tree-usage.js'
import type { DirNode, TreeNode } from '../../../src/core/tree.js'

const file = (path: string, hash = 'h', mode?: number): FileChange => ({
  op: 'file',
  path,
  hash,
  size: hash.length,
  ...(mode !== undefined && { mode }),
})
const gone = (path: string): FileChange => ({ op: 'gone', path })
const treeOf = (...changes: readonly FileChange[]): DirNode => applyChanges(emptyTree, changes, 1)

const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor')
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `/${names.join('/')}`)
const change: fc.Arbitrary<FileChange> = fc.oneof(
  fc.record({ op: fc.constant('file' as const), path, hash: fc.constantFrom('h', 'hh'), size: fc.nat(5) }),
  fc.record({
    op: fc.constant('file' as const),
    path,
    hash: fc.constant('h'),
    size: fc.nat(5),
    mode: fc.constantFrom(0o600, 0o755),
  }),
  fc.record({ op: fc.constant('dir' as const), path }),
  fc.record({ op: fc.constant('link' as const), path, target: name }),
  fc.record({ op: fc.constant('mode' as const), path, mode: fc.constantFrom(0o600, 0o755) }),
  fc.record({ op: fc.constant('gone' as const), path }),
)
const changes = fc.array(change, { maxLength: 12 })
const looks: readonly Look[] = ['kind', 'slot', 'room', 'node', 'list', 'deep']

describe('changes', () => {
  it('FT1: the old tree stays, and what was not touched is shared', () => {
    const old = treeOf(file('/a/x'), file('/b/y'))
    const frozen = freezeTree(old)
    const next = applyChanges(old, [file('/a/z'), gone('/a/x')], 2)
    expect(freezeTree(old)).toEqual(frozen)
    expect(nodeAt(next, '/b')).toBe(nodeAt(old, '/b'))
    expect(nodeAt(next, '/a/x')).toBeUndefined()
  })

  it.each<[string, readonly FileChange[]]>([
    ['no changes', []],
    ['a directory that is there', [{ op: 'dir', path: '/d', mode: 0o700 }]],
    ['nothing to remove', [gone('/nothing'), gone('/d/nothing/below')]],
    [
      'a mode of nothing or of a link',
      [
        { op: 'mode', path: '/x', mode: 0o600 },
        { op: 'mode', path: '/l', mode: 0o600 },
      ],
    ],
  ])('FT1: %s gives the same tree', (_name, none) => {
    const tree = treeOf({ op: 'dir', path: '/d' }, { op: 'link', path: '/l', target: 'd' })
    expect(applyChanges(tree, none, 2)).toBe(tree)
  })

  it('FT1: a directory is copied once for all changes of a set', () => {
    const editor = editTree(treeOf(file('/d/a')), 2)
    editor.apply(file('/d/b'))
    const copied = nodeAt(editor.root, '/d')
    editor.apply(file('/d/c'))
    expect(nodeAt(editor.root, '/d')).toBe(copied)
    const sealed = editor.seal()
    editor.apply(file('/d/e'))
    expect(nodeAt(sealed, '/d/e')).toBeUndefined()
  })

  it('makes the directories above, keeps the mode of a file, replaces what is in the way', () => {
    const tree = treeOf(file('/a/b/c', 'h', 0o600))
    expect(nodeAt(tree, '/a/b')).toMatchObject({ kind: 'dir', mode: 0o755 })
    expect(nodeAt(applyChanges(tree, [file('/a/b/c', 'new')], 2), '/a/b/c')).toEqual({
      kind: 'file',
      hash: 'new',
      size: 3,
      mode: 0o600,
      at: 2,
    })
    expect(nodeAt(treeOf(file('/f')), '/f')).toMatchObject({ mode: 0o644 })
    expect(nodeAt(applyChanges(tree, [file('/a/b/c/d')], 2), '/a/b/c/d')).toMatchObject({ kind: 'file' })
    expect(nodeAt(applyChanges(tree, [{ op: 'dir', path: '/a/b/c' }], 2), '/a/b/c')).toMatchObject({ kind: 'dir' })
  })

  it('the root stays a directory', () => {
    const tree = treeOf(file('/a'))
    expect(applyChanges(tree, [gone('/')], 2)).toMatchObject({ kind: 'dir', at: 2, entries: new Map() })
    expect(applyChanges(tree, [{ op: 'mode', path: '/', mode: 0o700 }], 2)).toMatchObject({
      mode: 0o700,
      entries: tree.entries,
    })
    expect(applyChanges(tree, [file('/')], 2)).toBe(tree)
  })

  it('a directory has the time of its names, a file that of its content', () => {
    const tree = treeOf(file('/d/a'), file('/e/a'))
    const at = (of: DirNode, where: string): number | undefined => nodeAt(of, where)?.at
    const written = applyChanges(tree, [file('/d/a', 'new')], 2)
    expect([at(written, '/d/a'), at(written, '/d'), written.at]).toEqual([2, 1, 1])
    const added = applyChanges(tree, [file('/d/b')], 2)
    expect([at(added, '/d'), at(added, '/e'), added.at]).toEqual([2, 1, 1])
    expect(at(applyChanges(tree, [gone('/d/a')], 2), '/d')).toBe(2)
    expect(at(applyChanges(tree, [{ op: 'link', path: '/d/a', target: 'x' }], 2), '/d')).toBe(2)
  })
})

describe('tokens', () => {
  const tree = treeOf(file('/f'), { op: 'dir', path: '/d' }, { op: 'link', path: '/l', target: 'f' })

  it.each<[Look, readonly (readonly string[])[]]>([
    ['kind', [['/none', '/f/below', '/l/below'], ['/f'], ['/d'], ['/l']]],
    ['slot', [['/none', '/f'], ['/d'], ['/l']]],
    [
      'room',
      [
        ['/none', '/d'],
        ['/f', '/l'],
      ],
    ],
    ['node', [['/none'], ['/f'], ['/d'], ['/l']]],
    ['list', [['/none'], ['/f'], ['/d'], ['/l']]],
    ['deep', [['/none'], ['/f'], ['/d'], ['/l']]],
  ])('CS1: %s tells these apart and no others', (look, groups) => {
    const tokens = groups.map((paths) => new Set(paths.map((each) => observe(tree, each, look))))
    for (const same of tokens) expect(same.size).toBe(1)
    expect(new Set(tokens.flatMap((same) => [...same])).size).toBe(groups.length)
  })

  it('CS1: the kind of a link is where it leads', () => {
    expect(observe(applyChanges(tree, [{ op: 'link', path: '/l', target: 'd' }], 2), '/l', 'kind')).not.toBe(
      observe(tree, '/l', 'kind'),
    )
  })

  it('CS1: equal trees have equal tokens, however they came about', () => {
    fc.assert(
      fc.property(changes, (list) => {
        const made = treeOf(...list)
        const thawed = thawTree(freezeTree(made))
        for (const where of ['/', '/a', '/b', '/a/b'])
          for (const look of looks) expect(observe(thawed, where, look)).toBe(observe(made, where, look))
      }),
    )
  })

  it('CS1: a token is the same only where nothing has changed that it stands for', () => {
    const seen = (of: TreeNode | undefined): unknown => (of?.kind === 'dir' ? { ...of, entries: 0 } : of)
    const below = (of: DirNode, where: string): unknown => {
      const node = nodeAt(of, where)
      return node?.kind === 'dir' ? freezeTree(node) : node
    }
    fc.assert(
      fc.property(changes, changes, path, (first, second, where) => {
        const before = treeOf(...first)
        const after = applyChanges(before, second, 2)
        const same = (look: Look): boolean => observe(before, where, look) === observe(after, where, look)
        const [one, two] = [nodeAt(before, where), nodeAt(after, where)]
        expect(same('node')).toBe(JSON.stringify(seen(one)) === JSON.stringify(seen(two)))
        expect(same('deep')).toBe(JSON.stringify(below(before, where)) === JSON.stringify(below(after, where)))
        const names = (of: TreeNode | undefined): unknown =>
          of?.kind === 'dir' ? [...of.entries].map(([each, { kind }]) => `${each} ${kind}`).sort() : of?.kind
        expect(same('list')).toBe(JSON.stringify(names(one)) === JSON.stringify(names(two)))
      }),
      { numRuns: 500 },
    )
  })

  it('CS1: stale says whether any token differs', () => {
    const read = { path: '/f', look: 'node' as const, token: observe(tree, '/f', 'node') }
    const other = { path: '/d', look: 'list' as const, token: observe(tree, '/d', 'list') }
    expect(stale(tree, [read, other])).toBe(false)
    expect(stale(applyChanges(tree, [file('/d/x')], 2), [read, other])).toBe(true)
    expect(stale(applyChanges(tree, [file('/d/x')], 2), [read])).toBe(false)
  })
})

describe('sums and plain data', () => {
  it('usage counts files where they stand', () => {
    fc.assert(
      fc.property(changes, (list) => {
        let tree = emptyTree
        for (const one of list) {
          tree = applyChanges(tree, [one], 1)
          const rows = freezeTree(tree).filter((row) => row[2] === 'file')
          expect(treeUsage(tree)).toEqual({
            names: freezeTree(tree).length - 1,
            bytes: rows.reduce((sum, row) => sum + (row[2] === 'file' ? row[4] : 0), 0),
            files: rows.length,
          })
        }
      }),
    )
  })

  it('a tree survives JSON, with every name, link, mode and time', () => {
    fc.assert(
      fc.property(changes, (list) => {
        const tree = treeOf(...list)
        expect(thawTree(JSON.parse(JSON.stringify(freezeTree(tree))))).toEqual(tree)
      }),
    )
    const odd = treeOf(file('/__proto__/constructor'), { op: 'link', path: '/__proto__/l', target: '__proto__' })
    expect(nodeAt(thawTree(freezeTree(odd)), '/__proto__/l')).toEqual({ kind: 'link', target: '__proto__', at: 1 })
  })

  it('as deep as a path may be', () => {
    const deep = treeOf(file('/d'.repeat(2047)))
    expect(thawTree(JSON.parse(JSON.stringify(freezeTree(deep))))).toBeDefined()
    expect(observe(deep, '/', 'deep')).not.toBe(observe(emptyTree, '/', 'deep'))
    expect(treeUsage(deep).files).toBe(1)
  })

  it.each<[string, unknown]>([
    ['no root', []],
    ['a root that is a file', [[0, '', 'file', 'h', 1, 1, 1]]],
    [
      'a leap',
      [
        [0, '', 'dir', 1, 1],
        [2, 'a', 'dir', 1, 1],
      ],
    ],
    [
      'a child of a file',
      [
        [0, '', 'dir', 1, 1],
        [1, 'a', 'file', 'h', 1, 1, 1],
        [2, 'b', 'dir', 1, 1],
      ],
    ],
    [
      'the same name twice',
      [
        [0, '', 'dir', 1, 1],
        [1, 'a', 'dir', 1, 1],
        [1, 'a', 'dir', 1, 1],
      ],
    ],
    [
      'an unknown kind',
      [
        [0, '', 'dir', 1, 1],
        [1, 'a', 'pipe', 1, 1],
      ],
    ],
  ])('damaged data is refused: %s', (_name, rows) => {
    expect(() => thawTree(JSON.parse(JSON.stringify(rows)))).toThrow(
      expect.objectContaining({ code: 'JOURNAL_CORRUPT' }),
    )
  })
})
