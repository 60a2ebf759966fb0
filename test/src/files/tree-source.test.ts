/** A tree in memory as a source: what it answers, and how often it is asked. */
import { describe, expect, it } from 'vitest'
import type { FileChange } from '../../../src/core/records/change.js'
import { applyChanges, emptyTree, observe } from '../../../src/core/tree.js'
import type { DirNode } from '../../../src/core/tree.js'
import type { FileSource, Files, FileNodeInfo } from '../../../src/files/port.js'
import { createTreeSource } from '../../../src/files/tree-source.js'
import { createWorkingCopy } from '../../../src/files/working-copy.js'
import { createStore } from './copies.js'

const file = (path: string): FileChange => ({ op: 'file', path, hash: 'h', size: 2 })
const treeOf = (paths: readonly string[]): DirNode => applyChanges(emptyTree, paths.map(file), 1)
const sourceOf = (tree: DirNode): FileSource =>
  createTreeSource({ tree, at: 5, quotaBytes: 1000, blobs: createStore() })

function countIn(shown: FileNodeInfo | undefined): number {
  if (shown?.kind !== 'dir' || !shown.entries) return 0
  return [...shown.entries.values()].reduce((sum, each) => sum + 1 + countIn(each), 0)
}

/** Runs a body and says which directories were asked for. */
async function asked(tree: DirNode, body: (files: Files) => Promise<unknown>): Promise<readonly string[]> {
  const source = sourceOf(tree)
  const paths: string[] = []
  const counted: FileSource = {
    ...source,
    node(path) {
      paths.push(path)
      return source.node(path)
    },
  }
  const copy = createWorkingCopy(async () => counted)
  await body(copy.files)
  await copy.done()
  return paths
}

const wide = Array.from({ length: 400 }, (_, index) => `/wide/f${index}`)

describe('F5: a tree as a source', () => {
  it('a small tree comes whole', async () => {
    const tree = treeOf(['/a/b/c/d', '/a/e', '/f'])
    expect(await sourceOf(tree).node('/')).toEqual(tree)
    expect(await asked(tree, (files) => files.grep('x', { glob: 'none' }))).toEqual(['/'])
  })

  it('a large one comes in parts, and what was asked for comes always', async () => {
    const tree = treeOf([...wide, '/small/a', '/wide/sub/x/y'])
    const source = sourceOf(tree)
    const root = await source.node('/')
    expect(countIn(root)).toBe(3)
    const part = await source.node('/wide')
    expect(countIn(part)).toBe(401)
    expect(part).toMatchObject({ kind: 'dir', mode: 0o755, at: 1 })
    expect(await source.node('/wide/f1')).toEqual({ kind: 'file', hash: 'h', size: 2, mode: 0o644, at: 1 })
    expect(await source.node('/wide/none')).toBeUndefined()
    expect(await source.node('/wide/f1/below')).toBeUndefined()
  })

  it('never more than it says', async () => {
    const tree = treeOf(Array.from({ length: 2000 }, (_, index) => `/${index % 7}/${index % 31}/${index}`))
    expect(countIn(await sourceOf(tree).node('/'))).toBeLessThanOrEqual(256)
  })

  it('what is not needed is not asked for, and nothing twice', async () => {
    const tree = treeOf([...wide, '/small/a'])
    expect(await asked(tree, (files) => files.readdir('/small'))).toEqual(['/'])
    const atOnce = await asked(tree, (files) =>
      Promise.all([
        files.stat('/wide/f1'),
        files.stat('/wide/f1'),
        files.readdir('/wide'),
        files.readdir('/wide'),
        files.stat('/wide/f2'),
      ]),
    )
    expect([...atOnce].sort()).toEqual(['/', '/wide', '/wide/f1', '/wide/f2'])
    expect(await asked(tree, (files) => files.rm('/wide', { recursive: true, force: true }))).toEqual(['/'])
    expect(await asked(tree, (files) => files.chmod('/wide', 0o700))).toEqual(['/'])
  })

  it('of a large directory one name is asked for, where one is needed; all of it when many are', async () => {
    const tree = treeOf([...wide, '/wide/sub/x'])
    expect(
      await asked(tree, async (files) => [
        await files.stat('/wide/f1'),
        await files.exists('/wide/f1'),
        await files.exists('/wide/none'),
        await files.exists('/wide/none'),
      ]),
    ).toEqual(['/', '/wide/f1', '/wide/none'])
    expect(
      await asked(tree, async (files) => [
        await files.writeFile('/wide/new', 'x'),
        await files.appendFile('/wide/new', 'y'),
        await files.rm('/wide/f1'),
      ]),
    ).toEqual(['/', '/wide/new', '/wide/f1'])
    expect(await asked(tree, (files) => files.stat('/wide/sub/x'))).toEqual(['/', '/wide/sub'])
    const many = await asked(tree, async (files) => {
      for (const path of wide.slice(0, 50)) await files.stat(path)
    })
    expect(many).toEqual(['/', ...wide.slice(0, 8), '/wide'])
  })

  it('what was changed by name stays so when the rest comes', async () => {
    const tree = treeOf([...wide.slice(0, 300), '/wide/sub/x'])
    const copy = createWorkingCopy(async () => sourceOf(tree))
    const { files } = copy
    await files.writeFile('/wide/new', '1')
    await files.rm('/wide/f1')
    await files.chmod('/wide/f2', 0o600)
    await files.move('/wide/f3', '/wide/moved')
    await files.writeFile('/wide/sub/y', '1')
    const [names, sub] = await Promise.all([files.readdir('/wide'), files.readdir('/wide/sub'), files.stat('/wide/f4')])
    expect(new Set(names)).toEqual(
      new Set([
        'new',
        'moved',
        'sub',
        ...wide
          .slice(0, 300)
          .map((path) => path.slice(6))
          .filter((name) => name !== 'f1' && name !== 'f3'),
      ]),
    )
    expect(sub).toEqual(['x', 'y'])
    expect(await files.usage()).toMatchObject({ files: 302, bytes: 299 * 2 + 2 + 2 })
    const { changes, reads } = await copy.done()
    expect(reads.map(({ path, look, token }) => [path, look, token])).toEqual(
      reads.map(({ path, look }) => [path, look, observe(tree, path, look)]),
    )
    expect(applyChanges(tree, changes, 5).entries.size).toBe(1)
  })

  it('a directory that was changed before it was loaded is loaded still', async () => {
    const tree = treeOf(wide)
    const copy = createWorkingCopy(async () => sourceOf(tree))
    await copy.files.chmod('/wide', 0o700)
    await copy.files.writeFile('/other', 'x')
    expect(await copy.files.readdir('/wide')).toHaveLength(400)
    expect(await copy.files.stat('/wide')).toMatchObject({ mode: 0o700, at: 5 })
    expect(await copy.files.usage()).toEqual({ bytes: 801, files: 401, names: 402, quotaBytes: 1000 })
  })

  it('tokens, usage and contents', async () => {
    const tree = treeOf(['/a/b'])
    const blobs = createStore()
    const source = createTreeSource({ tree, at: 5, quotaBytes: 100, blobs })
    expect(await source.deep('/a')).toBe(observe(tree, '/a', 'deep'))
    expect(await source.usage()).toEqual({ bytes: 2, files: 1, names: 2, quotaBytes: 100 })
    const { hash, size } = await source.store(
      (async function* () {
        yield Uint8Array.of(1, 2)
        yield Uint8Array.of(3)
      })(),
    )
    expect(size).toBe(3)
    expect(await source.bytes(hash)).toEqual(Uint8Array.of(1, 2, 3))
    const streamed: number[] = []
    for await (const part of source.stream(hash)) streamed.push(...part)
    expect(streamed).toEqual([1, 2, 3])
  })
})
