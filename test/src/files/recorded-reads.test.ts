/** What a working copy records: the reads and the changes of a call's outcome. */
import { describe, expect, it } from 'vitest'
import type { FileChange } from '../../../src/core/records/change.js'
import { applyChanges, emptyTree, freezeTree, observe, stale } from '../../../src/core/tree.js'
import type { DirNode } from '../../../src/core/tree.js'
import { createStore, runOn, settleOn } from './copies.js'
import type { Body } from './copies.js'

const world = { store: createStore(), at: 7 }
const on = async (base: Body<unknown>): Promise<DirNode> => (await settleOn(emptyTree, base, { ...world, at: 1 })).tree
const run = <Value>(body: Body<Value>, tree = emptyTree) => runOn(tree, body, world)

describe('what is noted', () => {
  it('CS1: each look, of the tree that was given', async () => {
    const tree = await on(async (files) => [
      await files.writeFile('/d/f', '1'),
      await files.symlink('d', '/l'),
      await files.writeFile('/w', ''),
    ])
    const { reads } = await run(async (files) => {
      await files.readFile('/l/f')
      await files.writeFile('/w', 'blind')
      await files.mkdir('/p/q', { recursive: true })
      await files.readdir('/d')
      await files.exists('/none')
      await files.rm('/anything', { recursive: true, force: true })
    }, tree)
    const looks = [
      ['/l', 'kind'],
      ['/d', 'list'],
      ['/d/f', 'node'],
      ['/w', 'slot'],
      ['/p', 'room'],
      ['/p/q', 'room'],
      ['/none', 'kind'],
    ] as const
    const key = ({ path, look }: { path: string; look: string }): string => `${path} ${look}`
    expect(reads.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))).toEqual(
      looks
        .map(([path, look]) => ({ path, look, token: observe(tree, path, look) }))
        .sort((a, b) => (key(a) < key(b) ? -1 : 1)),
    )
    expect(stale(tree, reads)).toBe(false)
  })

  it('past 256 the fullest directories are looked at as a whole', async () => {
    const tree = await on(async (files) => {
      for (let index = 0; index < 300; index++) await files.writeFile(`/many/f${index}`, '')
      for (let index = 0; index < 40; index++) await files.writeFile(`/few/f${index}`, '')
    })
    const readAll: Body<unknown> = async (files) => {
      for (const path of await files.find('**/f[0-9]*')) await files.readFile(path)
    }
    const { reads } = await run(readAll, tree)
    expect(reads.length).toBeLessThanOrEqual(256)
    expect(reads).toContainEqual({ path: '/many', look: 'deep', token: observe(tree, '/many', 'deep') })
    expect(reads.filter(({ path }) => path.startsWith('/many/'))).toEqual([])
    expect(reads.filter(({ path }) => path.startsWith('/few/'))).toHaveLength(40)
    const write = (path: string): FileChange => ({ op: 'file', path, hash: 'h', size: 1 })
    expect(stale(tree, reads)).toBe(false)
    for (const path of ['/many/f7', '/many/new', '/few/f7', '/few/new', '/new'])
      expect(stale(applyChanges(tree, [write(path)], 7), reads), path).toBe(true)
  })

  it('also when they are spread over thousands of directories', async () => {
    const changes = Array.from({ length: 3000 }, (_, index): FileChange => ({
      op: 'file',
      path: `/d${index % 50}/e${index}/f`,
      hash: 'h',
      size: 0,
    }))
    const tree = applyChanges(emptyTree, changes, 1)
    const { reads } = await run((files) => files.find('**'), tree)
    expect(reads.length).toBeLessThanOrEqual(256)
    expect(stale(tree, reads)).toBe(false)
    for (const path of ['/d3/e3/g', '/d49/new', '/new'])
      expect(stale(applyChanges(tree, [{ op: 'dir', path }], 7), reads), path).toBe(true)
  })

  it('directories that something is put into need no change of their own', async () => {
    const { changes } = await run(async (files) => {
      await files.writeFile('/a/b/c', '1')
      await files.mkdir('/a/empty', { recursive: true })
      await files.chmod('/a/b/c', 0o600)
      await files.writeFile('/a/b/c', '2')
    })
    expect(changes).toEqual([
      { op: 'dir', path: '/a/empty' },
      expect.objectContaining({ op: 'file', path: '/a/b/c', mode: 0o600 }),
    ])
  })

  it('those that have a mode do', async () => {
    const { changes } = await run(async (files) => {
      await files.mkdir('/given/mode', { recursive: true, mode: 0o700 })
      await files.writeFile('/given/mode/f', '')
      await files.mkdir('/set', { recursive: true })
      await files.chmod('/set', 0o700)
      await files.writeFile('/set/f', '')
    })
    const modes = freezeTree(applyChanges(emptyTree, changes, 7)).flatMap((row) =>
      row[2] === 'dir' ? [[row[1], row[3]]] : [],
    )
    expect(modes).toEqual([
      ['', 0o755],
      ['given', 0o755],
      ['mode', 0o700],
      ['set', 0o700],
    ])
  })
})
