/** Three trees become one: the table of what is taken and what is a conflict, and what holds for any trees. */
import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FileChange } from '../../../src/core/records/change.js'
import { applyChanges, emptyTree, freezeTree, nodeAt, thawTree } from '../../../src/core/tree.js'
import type { DirNode, TreeNode } from '../../../src/core/tree.js'
import { conflictReport } from '../../../src/files/merge/conflicts.js'
import type { Conflict } from '../../../src/files/merge/conflicts.js'
import { matchLines } from '../../../src/files/merge/match-lines.js'
import { mergeText } from '../../../src/files/merge/text.js'
import { mergeTrees } from '../../../src/files/merge/trees.js'
import type { MergedTrees } from '../../../src/files/merge/trees.js'
import { normalise } from '../../../src/files/path.js'
import { createStore } from './copies.js'

// ── trees that are quick to write and to read ──

type Edit =
  | { readonly write: string; readonly text: string; readonly mode?: number }
  | { readonly link: string; readonly target: string }
  | { readonly dir: string; readonly mode?: number }
  | { readonly mode: number; readonly of: string }
  | { readonly gone: string }

const store = createStore()

async function changeOf(edit: Edit): Promise<FileChange> {
  if ('write' in edit) {
    // Latin-1: a text may also stand for bytes that are none.
    const content = await store.put(Buffer.from(edit.text, 'latin1'))
    return { op: 'file', path: edit.write, ...content, ...(edit.mode !== undefined && { mode: edit.mode }) }
  }
  if ('link' in edit) return { op: 'link', path: edit.link, target: edit.target }
  if ('dir' in edit) return { op: 'dir', path: edit.dir, ...(edit.mode !== undefined && { mode: edit.mode }) }
  if ('of' in edit) return { op: 'mode', path: edit.of, mode: edit.mode }
  return { op: 'gone', path: edit.gone }
}

let time = 0
async function edited(tree: DirNode, edits: readonly Edit[]): Promise<DirNode> {
  return applyChanges(tree, await Promise.all(edits.map(changeOf)), ++time)
}

const bytesOf = (hash: string): Uint8Array => {
  const bytes = store.kept.get(hash)
  if (!bytes) throw new Error(`no content ${hash}`)
  return bytes
}
const textOf = (hash: string): string => Buffer.from(bytesOf(hash)).toString('latin1')

function walk(tree: DirNode): Map<string, TreeNode> {
  const found = new Map<string, TreeNode>([['/', tree]])
  for (const [path, node] of found)
    if (node.kind === 'dir')
      for (const [name, child] of node.entries) found.set(path === '/' ? `/${name}` : `${path}/${name}`, child)
  return found
}

/** Of the node alone, times aside. */
function plain(node: TreeNode | undefined): string {
  if (!node) return 'nothing'
  if (node.kind === 'link') return `-> ${node.target}`
  const mode = node.mode === (node.kind === 'dir' ? 0o755 : 0o644) ? '' : ` ${node.mode.toString(8)}`
  return node.kind === 'dir' ? `dir${mode}` : `${textOf(node.hash)}${mode}`
}

const shown = (tree: DirNode): Record<string, string> =>
  Object.fromEntries(
    [...walk(tree)]
      .map(([path, node]) => [path, plain(node)] as const)
      .filter(([path]) => path !== '/')
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
const plainTree = (tree: DirNode): readonly (readonly [string, string])[] =>
  [...walk(tree)].map(([path, node]) => [path, plain(node)] as const).sort(([a], [b]) => (a < b ? -1 : 1))

interface Trees {
  readonly base: DirNode
  readonly ours: DirNode
  readonly theirs: DirNode
}

async function merged(trees: Trees): Promise<MergedTrees & { readonly tree: DirNode }> {
  const outcome = await mergeTrees({
    ...trees,
    read: async (hash) => bytesOf(hash),
    write: (bytes) => store.put(bytes),
  })
  return { ...outcome, tree: applyChanges(trees.ours, outcome.changes, ++time) }
}

async function mergedEdits(
  base: readonly Edit[],
  ours: readonly Edit[],
  theirs: readonly Edit[],
): Promise<MergedTrees & { readonly files: Record<string, string> }> {
  const start = await edited(emptyTree, base)
  const outcome = await merged({ base: start, ours: await edited(start, ours), theirs: await edited(start, theirs) })
  return { ...outcome, files: shown(outcome.tree) }
}

const poem = (...lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')

// ── the table ──

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

// ── text ──

describe('a merge of lines', () => {
  const text = async (base: string, ours: string, theirs: string): Promise<string> => {
    const outcome = await mergeText({ base: Buffer.from(base), ours: Buffer.from(ours), theirs: Buffer.from(theirs) })
    return typeof outcome === 'string' ? `no: ${outcome}` : Buffer.from(outcome).toString()
  }

  it('line ends, a missing last newline and a byte order mark are kept', async () => {
    expect(await text('\uFEFFa\r\nb\r\nc', '\uFEFFA\r\nb\r\nc', '\uFEFFa\r\nb\r\nC')).toBe('\uFEFFA\r\nb\r\nC')
    expect(await text('a\nb\nc\n', 'A\nb\nc\n', 'a\nb\nc')).toBe('A\nb\nc')
    expect(await text('a\nb\nc', 'A\nb\nc', 'a\nb\nc\nd')).toBe('A\nb\nc\nd')
    expect(await text('a\rb\nc\n\nd\n', 'a\rb\nc\n\n', 'a\rB\nc\n\nd\n')).toBe('a\rB\nc\n\n')
  })

  it.each([
    ['the same line', 'a\nb\nc\n', 'a\n1\nc\n', 'a\n2\nc\n'],
    ['lines that touch', 'a\nb\nc\n', 'A\nb\nc\n', 'a\nB\nc\n'],
    ['different lines at the end', 'a\n', 'a\n1\n', 'a\n2\n'],
    ['a line behind a last one that lost its newline', 'a\nb\n', 'a\nb', 'a\nb\nc\n'],
    ['a line in what the other removed', 'a\nb\nc\nd\n', 'a\nd\n', 'a\nb\nx\nc\nd\n'],
    ['different texts where none was', '', 'x', 'y'],
    ['lines that may be any of several equal ones', 'y\nx\nw\n', 'x\nw\nw\n', 'x\nx\nw\n'],
  ])('%s', async (...[, base, ours, theirs]) => {
    expect(await text(base, ours, theirs)).toBe('no: content')
    expect(await text(base, theirs, ours)).toBe('no: content')
  })

  it('equal changes are made once', async () => {
    expect(await text('a\nb\nc\nd\n', 'a\nX\nc\nd\n1\n', 'a\nX\nc\nd\n1\n')).toBe('a\nX\nc\nd\n1\n')
    expect(await text('a\nb\nc\nd\ne\n', 'a\nX\nc\nd\nE\n', 'a\nX\nc\nd\ne\n')).toBe('a\nX\nc\nd\nE\n')
    expect(await text('a\nb\n', '', '')).toBe('')
  })

  it('changes with a line between them give both, on either side', async () => {
    const words = fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 })
    const part = fc.record({
      base: words,
      next: words,
      by: fc.constantFrom('none' as const, 'ours' as const, 'theirs' as const, 'both' as const),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { minLength: 1, maxLength: 8 }),
        fc.constantFrom('\n', '\r\n'),
        fc.boolean(),
        async (parts, end, ended) => {
          // Lines of a part are found in no other, and each part ends with one that stays.
          const version = (...sides: readonly string[]): string => {
            const lines = parts.flatMap(({ base, next, by }, index) => [
              ...(sides.includes(by) ? next : base).map((word) => `${index}${word}`),
              `${index}`,
            ])
            return lines.join(end) + (ended ? end : '')
          }
          const expected = version('ours', 'theirs', 'both')
          expect(await text(version(), version('ours', 'both'), version('theirs', 'both'))).toBe(expected)
          expect(await text(version(), version('theirs', 'both'), version('ours', 'both'))).toBe(expected)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('what both did alike comes once, also among lines that are alike', async () => {
    expect(await text('a\ny\n1\n', 'a\ny\ny\n1\n', '0\na\ny\ny\n1\n')).toBe('0\na\ny\ny\n1\n')
    expect(await text('a\n\n\nb\nc\n', 'a\n\n\n\nb\nc\n', 'a\n\n\n\nb\nc\nd\n')).toBe('a\n\n\n\nb\nc\nd\n')
  })

  it('texts that have little in common are one change', async () => {
    const many = (word: string): string =>
      poem(...Array.from({ length: 5000 }, (_, line) => (line === 2500 ? 'middle' : `${word}${line}`)))
    const [base, ours] = [many('a'), many('b')]
    expect(await text(`${base}same\nlast\n`, `${ours}same\nlast\n`, `${base}same\nLAST\n`)).toBe(`${ours}same\nLAST\n`)
    expect(await text(base, ours, base.replace('middle', 'centre'))).toBe('no: content')
  })

  it('a large merge lets others go first, and no difference takes more than its steps', async () => {
    const version = (factor: number): Buffer =>
      Buffer.from(Array.from({ length: 60_000 }, (_, line) => ((line * factor) % 7 < 3 ? 'a' : 'b')).join('\n'))
    const [base, ours, theirs] = [version(3), version(5), version(11)]
    let turns = 0
    let merging = true
    const count = (): void => {
      turns++
      if (merging) setImmediate(count)
    }
    setImmediate(count)
    expect(await mergeText({ base, ours, theirs })).toBe('content')
    merging = false
    expect(turns).toBeGreaterThan(4)
    // More steps than are allowed: there is no answer, instead of one after minutes.
    const numbers = (factor: number): Int32Array =>
      Int32Array.from({ length: 200_000 }, (_, line) => Number((line * factor) % 7 < 3))
    expect(matchLines(numbers(3), numbers(5))).toBeUndefined()
    expect(matchLines(Int32Array.of(1, 2, 3, 4), Int32Array.of(2, 5, 4))).toEqual(Int32Array.of(-1, 0, -1, 2))
  })
})

// ── any trees ──

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

/** Goes through a merge path by path: what is wrong, and how many texts were merged. */
function checkPaths(
  { base, ours, theirs }: Trees,
  tree: DirNode,
  conflicts: readonly Conflict[],
): { readonly wrong: readonly string[]; readonly merges: number } {
  const hashes = new Set([...walk(tree).values()].flatMap((node) => (node.kind === 'file' ? [node.hash] : [])))
  const linesOf = (node: TreeNode | undefined): readonly string[] =>
    node?.kind === 'file' ? textOf(node.hash).split('\n') : []
  const wrong: string[] = []
  let merges = 0
  for (const at of new Set([base, ours, theirs].flatMap((each) => [...walk(each).keys()]))) {
    const [before, mine, its, now] = [base, ours, theirs, tree].map((each) => nodeAt(each, at))
    const mixed = [mine, its].filter((side) => side?.kind === 'file' && !hashes.has(side.hash) && !same(before, side))
    merges += mixed.length
    // Not there as it is, so it must be part of a merged text: every line that this side wrote.
    const known = new Set([...linesOf(before), ...linesOf(now)])
    for (const side of mixed) {
      if (now?.kind !== 'file' || linesOf(side).some((line) => !known.has(line)))
        wrong.push(`${at} has lost ${plain(side)}`)
    }
    const inConflict = conflicts.some((conflict) => at === conflict.path || at.startsWith(`${conflict.path}/`))
    if (!inConflict) wrong.push(...checkRule(at, { before, mine, its, now }))
  }
  return { wrong, merges }
}

function same(before: TreeNode | undefined, side: TreeNode): boolean {
  return before?.kind === 'file' && side.kind === 'file' && before.hash === side.hash
}

type Nodes = Readonly<Record<'before' | 'mine' | 'its' | 'now', TreeNode | undefined>>

/** The rule of a three-way merge where there is no conflict: a change of one side stands, else nothing changes. */
function checkRule(at: string, { before, mine, its, now }: Nodes): readonly string[] {
  // A directory also stands for what is in it.
  const isSharedDir = now?.kind === 'dir' && now.entries.size > 0 && (mine?.kind === 'dir' || its?.kind === 'dir')
  if (isSharedDir) return []
  const [was, here, there, is] = [before, mine, its, now].map(plain)
  const isWrong = there === was || there === here ? is !== here : here === was && is !== there
  return isWrong ? [`${at} is ${is}, not of ${was}, ${here}, ${there}`] : []
}

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
