/** Merges of trees: what is taken, what is a conflict, and what is said of it. */
import { describe, expect, it } from 'vitest'
import { applyChanges, emptyTree } from '../../../src/core/tree.js'
import type { DirNode, TreeNode } from '../../../src/core/tree.js'
import { conflictReport } from '../../../src/files/merge/conflicts.js'
import type { Conflict } from '../../../src/files/merge/conflicts.js'
import { mergeTrees } from '../../../src/files/merge/trees.js'
import type { MergedTrees } from '../../../src/files/merge/trees.js'
import { normalise } from '../../../src/files/path.js'
import { store, edited, bytesOf, merged, mergedEdits, poem } from './merging.js'
import type { Edit } from './merging.js'

describe('what is taken', () => {
  it('what one side changed, added or deleted', async () => {
    const base: readonly Edit[] = ['/ours', '/theirs', '/gone/a', '/kept'].map((write) => ({ write, text: 'old' }))
    const { files, conflicts, changes } = await mergedEdits(
      base,
      [
        { write: '/ours', text: 'mine' },
        { write: '/more', text: 'm' },
      ],
      [{ write: '/theirs', text: 'its' }, { write: '/new/b', text: 'n' }, { gone: '/gone' }],
    )
    expect(files).toEqual({
      '/kept': 'old',
      '/more': 'm',
      '/new': 'dir',
      '/new/b': 'n',
      '/ours': 'mine',
      '/theirs': 'its',
    })
    expect(conflicts).toEqual([])
    expect(changes.map(({ op, path }) => `${op} ${path}`)).toEqual([
      'gone /gone',
      'dir /new',
      'file /new/b',
      'file /theirs',
    ])
  })

  it('what both did alike changes nothing', async () => {
    const alike: readonly Edit[] = [
      { write: '/a', text: 'new' },
      { gone: '/b' },
      { link: '/l', target: 'a' },
      { dir: '/d', mode: 0o700 },
      { mode: 0o600, of: '/c' },
    ]
    const base = ['/a', '/b', '/c'].map((write) => ({ write, text: 'old' }))
    expect(await mergedEdits(base, alike, alike)).toMatchObject({ changes: [], conflicts: [] })
  })

  it('lines of one text that both changed in different places', async () => {
    const { files, conflicts } = await mergedEdits(
      [{ write: '/a', text: poem('1', '2', '3', '4', '5') }],
      [{ write: '/a', text: poem('one', '2', '3', '4', '5') }],
      [{ write: '/a', text: poem('1', '2', '3', '4', 'five', 'six') }],
    )
    expect(files).toEqual({ '/a': poem('one', '2', '3', '4', 'five', 'six') })
    expect(conflicts).toEqual([])
  })

  it('the mode from one side and the content from the other', async () => {
    const { files, conflicts } = await mergedEdits(
      ['/a', '/b', '/c'].map((write) => ({ write, text: '\0' })),
      [
        { mode: 0o755, of: '/a' },
        { write: '/b', text: '\0B' },
        { write: '/c', text: '\0C' },
      ],
      [
        { write: '/a', text: '\0A' },
        { mode: 0o600, of: '/b' },
        { write: '/c', text: '\0C', mode: 0o600 },
      ],
    )
    expect(files).toEqual({ '/a': '\0A 755', '/b': '\0B 600', '/c': '\0C 600' })
    expect(conflicts).toEqual([])
  })

  it('a rename is a removal and an addition', async () => {
    const { files, conflicts } = await mergedEdits(
      [{ write: '/a', text: 'a' }],
      [{ write: '/a', text: 'changed' }],
      [{ gone: '/a' }, { write: '/b', text: 'a' }],
    )
    expect(files).toEqual({ '/a': 'changed', '/b': 'a' })
    expect(conflicts).toEqual([{ path: '/a', kind: 'deleted', kept: 'ours' }])
  })

  it('another kind of thing, where the other side has done nothing', async () => {
    const { files, conflicts } = await mergedEdits(
      [
        { write: '/a', text: 'a' },
        { write: '/d/x', text: 'x' },
        { link: '/l', target: 'a' },
      ],
      [],
      [{ write: '/a/in', text: 'i' }, { write: '/d', text: 'd' }, { dir: '/l' }],
    )
    expect(files).toEqual({ '/a': 'dir', '/a/in': 'i', '/d': 'd', '/l': 'dir' })
    expect(conflicts).toEqual([])
  })

  it('empty directories come and go', async () => {
    const base: readonly Edit[] = [{ dir: '/a' }, { dir: '/b' }, { write: '/c/x', text: 'x' }]
    const { files, conflicts } = await mergedEdits(
      base,
      [{ gone: '/a' }, { gone: '/c/x' }],
      [{ gone: '/b' }, { dir: '/e/f' }, { gone: '/c' }],
    )
    expect(files).toEqual({ '/e': 'dir', '/e/f': 'dir' })
    expect(conflicts).toEqual([])
  })

  it('a directory that one deleted stays for what the other put into it, and for nothing else', async () => {
    const base: readonly Edit[] = [
      { dir: '/d', mode: 0o700 },
      { write: '/d/x', text: 'x' },
      { dir: '/e', mode: 0o700 },
      { write: '/e/x', text: 'x' },
    ]
    const { files, conflicts } = await mergedEdits(
      base,
      [{ gone: '/d' }, { write: '/e/new', text: 'n' }],
      [{ write: '/d/new', text: 'n' }, { gone: '/e' }],
    )
    expect(files).toEqual({ '/d': 'dir 700', '/d/new': 'n', '/e': 'dir 700', '/e/new': 'n' })
    expect(conflicts).toEqual([])
  })

  it("the root's mode", async () => {
    const { tree } = await merged({
      base: emptyTree,
      ours: emptyTree,
      theirs: await edited(emptyTree, [{ mode: 0o700, of: '/' }]),
    })
    expect(tree).toMatchObject({ kind: 'dir', mode: 0o700 })
  })
})

describe('conflicts', () => {
  it('content: lines that overlap, both versions stay', async () => {
    const { files, conflicts } = await mergedEdits(
      [{ write: '/d/a', text: poem('1', '2') }],
      [{ write: '/d/a', text: poem('1', 'mine') }],
      [{ write: '/d/a', text: poem('1', 'its'), mode: 0o755 }],
    )
    expect(files).toEqual({ '/d': 'dir', '/d/a': poem('1', 'mine'), '/d/a.theirs': `${poem('1', 'its')} 755` })
    expect(conflicts).toEqual([{ path: '/d/a', kind: 'content', kept: 'ours', theirs: '/d/a.theirs' }])
  })

  it('content: both made it; both changed where a link leads', async () => {
    const { files, conflicts } = await mergedEdits(
      [{ link: '/l', target: 'x' }],
      [
        { write: '/a', text: 'mine' },
        { link: '/l', target: 'y' },
      ],
      [
        { write: '/a', text: 'its' },
        { link: '/l', target: 'z' },
      ],
    )
    expect(files).toEqual({ '/a': 'mine', '/a.theirs': 'its', '/l': '-> y', '/l.theirs': '-> z' })
    expect(conflicts.map(({ path, kind }) => [path, kind])).toEqual([
      ['/a', 'content'],
      ['/l', 'content'],
    ])
  })

  it('content: files too large to be merged by lines are not even read', async () => {
    const large = (hash: string): DirNode =>
      applyChanges(emptyTree, [{ op: 'file', path: '/a', hash, size: 2 ** 23 }], 1)
    const never = async (): Promise<never> => expect.unreachable('nothing is read or written')
    const { changes, conflicts } = await mergeTrees({
      base: large('b'),
      ours: large('o'),
      theirs: large('t'),
      read: never,
      write: never,
    })
    expect(conflicts).toEqual([{ path: '/a', kind: 'content', kept: 'ours', theirs: '/a.theirs' }])
    expect(changes).toEqual([{ op: 'file', path: '/a.theirs', hash: 't', size: 2 ** 23, mode: 0o644 }])
  })

  it.each([
    ['NUL', '\0'],
    ['no UTF-8', '\xff'],
  ])('binary: %s in any version', async (_what, odd) => {
    const lines = ['1', '2', '3', '4', '5']
    const versions = (index: number): readonly Edit[] =>
      [0, 1, 2].map((file) => ({
        write: `/${file}`,
        text: poem(...lines.map((line, at) => (at === index ? `${line}!` : line)), file === index / 2 ? odd : ''),
      }))
    const { files, conflicts } = await mergedEdits(versions(2), versions(0), versions(4))
    expect(conflicts.map(({ path, kind }) => [path, kind])).toEqual([
      ['/0', 'binary'],
      ['/1', 'binary'],
      ['/2', 'binary'],
    ])
    expect(Object.keys(files)).toEqual(['/0', '/0.theirs', '/1', '/1.theirs', '/2', '/2.theirs'])
  })

  it('deleted: the side that changed is kept', async () => {
    const base: readonly Edit[] = ['/ours', '/theirs', '/d/a', '/d/b', '/e/a', '/e/b'].map((write) => ({
      write,
      text: 'old',
    }))
    const { files, conflicts } = await mergedEdits(
      base,
      [{ write: '/ours', text: 'mine' }, { gone: '/theirs' }, { write: '/d/a', text: 'mine' }, { gone: '/e' }],
      [{ gone: '/ours' }, { write: '/theirs', text: 'its' }, { gone: '/d' }, { write: '/e/a', text: 'its' }],
    )
    expect(files).toEqual({
      '/d': 'dir',
      '/d/a': 'mine',
      '/e': 'dir',
      '/e/a': 'its',
      '/ours': 'mine',
      '/theirs': 'its',
    })
    expect(conflicts).toEqual([
      { path: '/d/a', kind: 'deleted', kept: 'ours' },
      { path: '/e/a', kind: 'deleted', kept: 'theirs', theirs: '/e/a' },
      { path: '/ours', kind: 'deleted', kept: 'ours' },
      { path: '/theirs', kind: 'deleted', kept: 'theirs', theirs: '/theirs' },
    ])
  })

  it('deleted: a directory whose mode the other changed', async () => {
    const { files, conflicts } = await mergedEdits(
      [
        { write: '/d/x', text: '' },
        { write: '/e/x', text: '' },
      ],
      [{ mode: 0o700, of: '/d' }, { gone: '/e' }],
      [{ gone: '/d' }, { mode: 0o700, of: '/e' }],
    )
    expect(files).toEqual({ '/d': 'dir 700', '/e': 'dir 700' })
    expect(conflicts).toEqual([
      { path: '/d', kind: 'deleted', kept: 'ours' },
      { path: '/e', kind: 'deleted', kept: 'theirs', theirs: '/e' },
    ])
  })

  it("kind: file, directory and link in each other's place", async () => {
    const base: readonly Edit[] = [
      { write: '/a', text: 'a' },
      { write: '/d/x', text: 'x' },
      { write: '/d/y', text: 'y' },
    ]
    const { files, conflicts } = await mergedEdits(
      base,
      [
        { write: '/a', text: 'mine' },
        { write: '/d', text: 'flat' },
        { write: '/n', text: 'n' },
      ],
      [
        { write: '/a/in', text: 'its' },
        { write: '/d/x', text: 'its' },
        { link: '/n', target: 'a' },
      ],
    )
    expect(files).toEqual({
      '/a': 'mine',
      '/a.theirs': 'dir',
      '/a.theirs/in': 'its',
      '/d': 'flat',
      '/d.theirs': 'dir',
      '/d.theirs/x': 'its',
      '/d.theirs/y': 'y',
      '/n': 'n',
      '/n.theirs': '-> a',
    })
    expect(conflicts.map(({ path, kind, theirs }) => [path, kind, theirs])).toEqual([
      ['/a', 'kind', '/a.theirs'],
      ['/d', 'kind', '/d.theirs'],
      ['/n', 'kind', '/n.theirs'],
    ])
  })

  it('kind: a directory in which only a mode was changed', async () => {
    const { files, conflicts } = await mergedEdits(
      [{ dir: '/d/e' }],
      [{ write: '/d', text: 'flat' }],
      [{ mode: 0o700, of: '/d/e' }],
    )
    expect(files).toEqual({ '/d': 'flat', '/d.theirs': 'dir', '/d.theirs/e': 'dir 700' })
    expect(conflicts).toEqual([{ path: '/d', kind: 'kind', kept: 'ours', theirs: '/d.theirs' }])
  })

  it('mode: both changed it, and the contents are merged all the same', async () => {
    const { files, conflicts } = await mergedEdits(
      [{ write: '/a', text: 'a' }, { dir: '/d' }],
      [
        { mode: 0o600, of: '/a' },
        { mode: 0o700, of: '/d' },
      ],
      [
        { write: '/a', text: 'A', mode: 0o755 },
        { mode: 0o500, of: '/d' },
      ],
    )
    expect(files).toEqual({ '/a': 'A 600', '/d': 'dir 700' })
    expect(conflicts).toEqual([
      { path: '/a', kind: 'mode', kept: 'ours', mode: 0o755 },
      { path: '/d', kind: 'mode', kept: 'ours', mode: 0o500 },
    ])
  })
})

describe("the place of the child's version", () => {
  const both = (
    path: string,
    more: readonly Edit[] = [],
  ): Promise<MergedTrees & { readonly files: Record<string, string> }> =>
    mergedEdits([{ write: path, text: '0' }], [{ write: path, text: 'mine' }], [{ write: path, text: 'its' }, ...more])

  it('is a free name, also of what the child has just made', async () => {
    const { files, conflicts } = await both('/a', [
      { write: '/a.theirs', text: 'taken' },
      { write: '/a.theirs.2', text: 'too' },
    ])
    expect(files).toEqual({ '/a': 'mine', '/a.theirs': 'taken', '/a.theirs.2': 'too', '/a.theirs.3': 'its' })
    expect(conflicts[0]?.theirs).toBe('/a.theirs.3')
  })

  it.each([
    ['a long name', `/${'ü'.repeat(127)}`],
    ['a long path', `/${Array.from({ length: 40 }, () => 'd'.repeat(100)).join('/')}/${'f'.repeat(50)}`],
    ['a long path of short names', `/${Array.from({ length: 40 }, () => 'd'.repeat(100)).join('/')}${'/e'.repeat(28)}`],
  ])('can be opened: %s', async (_what, path) => {
    const { files, conflicts } = await both(path)
    const place = conflicts[0]?.theirs ?? ''
    expect(place).toMatch(/\.theirs$/)
    expect(normalise(place, 'open')).toBe(place)
    expect([files[path], files[place]]).toEqual(['mine', 'its'])
  })

  it('is another for each of two names that are cut to the same', async () => {
    const names = ['1', '2'].map((last) => `/${'n'.repeat(254)}${last}`)
    const all = (text: string): readonly Edit[] => names.map((write) => ({ write, text: text + write.slice(-1) }))
    const { files, conflicts } = await mergedEdits(all(''), all('mine'), all('its'))
    expect(conflicts.map(({ theirs = '' }) => files[theirs])).toEqual(['its1', 'its2'])
  })

  it('leaves room for what is below a directory', async () => {
    const top = `/${'p'.repeat(60)}/x`
    const deep = top + `/${'d'.repeat(100)}`.repeat(39) + '/e'.repeat(40)
    const { conflicts, changes } = await mergedEdits(
      [{ write: deep, text: '0' }],
      [{ write: top, text: 'file' }],
      [{ write: deep, text: '1' }],
    )
    expect(conflicts).toEqual([{ path: top, kind: 'kind', kept: 'ours', theirs: '/x.theirs' }])
    expect(changes.filter(({ path }) => normalise(path, 'open') !== path)).toEqual([])
  })
})

describe('what is shared', () => {
  /** A directory that says so when somebody looks into it. */
  const closed: DirNode = {
    kind: 'dir',
    mode: 0o755,
    at: 0,
    get entries(): never {
      return expect.unreachable('a directory was walked that nobody changed')
    },
  }
  const dir = (entries: Record<string, TreeNode>): DirNode => ({
    kind: 'dir',
    mode: 0o755,
    at: 1,
    entries: new Map(Object.entries(entries)),
  })
  const file = (hash: string): TreeNode => ({ kind: 'file', hash, size: 1, mode: 0o644, at: 1 })

  it('is not walked', async () => {
    const never = async (): Promise<never> => expect.unreachable('nothing is read or written')
    const outcome = await mergeTrees({
      base: dir({
        all: closed,
        ours: file('1'),
        theirs: file('1'),
        deep: dir({ all: closed, a: file('1') }),
        dropped: closed,
      }),
      ours: dir({
        all: closed,
        ours: file('2'),
        theirs: file('1'),
        deep: dir({ all: closed, a: file('1'), b: closed }),
        dropped: closed,
      }),
      theirs: dir({ all: closed, ours: file('1'), theirs: file('2'), deep: dir({ all: closed, a: file('2') }) }),
      read: never,
      write: never,
    })
    expect(outcome.conflicts).toEqual([])
    expect(outcome.changes.map(({ op, path }) => `${op} ${path}`)).toEqual([
      'file /deep/a',
      'gone /dropped',
      'file /theirs',
    ])
  })

  it('a tree may be deeper than the stack', async () => {
    const tower = (hash: string): DirNode => {
      let top = dir({ a: file(hash) })
      for (let floor = 0; floor < 20_000; floor++) top = dir({ d: top })
      return top
    }
    const outcome = await mergeTrees({
      base: tower('1'),
      ours: tower('1'),
      theirs: tower('2'),
      read: async (hash) => bytesOf(hash),
      write: (bytes) => store.put(bytes),
    })
    expect(outcome.changes.map(({ op, path }) => [op, path.length])).toEqual([['file', 40_002]])
  })
})

describe('the report', () => {
  it('says of each conflict what happened, what stands and where the other is', async () => {
    const report = conflictReport([
      { path: '/a', kind: 'content', kept: 'ours', theirs: '/a.theirs' },
      { path: '/b\n- "/x": ignore', kind: 'binary', kept: 'ours', theirs: '/b.theirs' },
      { path: '/c', kind: 'deleted', kept: 'ours' },
      { path: '/d', kind: 'deleted', kept: 'theirs', theirs: '/d' },
      { path: '/e', kind: 'kind', kept: 'ours', theirs: '/e.theirs' },
      { path: '/f', kind: 'mode', kept: 'ours', mode: 0o755 },
    ])
    expect(report.split('\n').slice(1)).toEqual([
      `- "/a": both changed it, and the changes do not fit together. Yours is kept; the child's version is ` +
        `"/a.theirs".`,
      `- "/b\\n- \\"/x\\": ignore": both changed it, and it is not text. Yours is kept; the child's version is ` +
        `"/b.theirs".`,
      `- "/c": the child deleted it, you changed it. Yours is kept; delete it if it is not needed.`,
      `- "/d": you deleted it, the child changed it. The child's version stands there; delete it if it is not needed.`,
      `- "/e": it is a different kind of thing (file, directory, link) on each side. Yours is kept; the child's ` +
        `version is "/e.theirs".`,
      `- "/f": both changed its mode. Yours is kept; the child's was 755.`,
    ])
  })

  it('is empty without conflicts and names fifty at most', () => {
    expect(conflictReport([])).toBe('')
    const many = Array.from({ length: 62 }, (_, index): Conflict => ({
      path: `/${index}`,
      kind: 'deleted',
      kept: 'ours',
    }))
    const lines = conflictReport(many).split('\n')
    expect(lines[0]).toContain('62 conflicts')
    expect(lines).toHaveLength(52)
    expect(lines.at(-1)).toContain('12 more')
  })
})
