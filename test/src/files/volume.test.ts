/** A directory of the files as a synchronous `fs`. */
import { describe, expect, it } from 'vitest'
import { applyChanges, emptyTree, freezeTree } from '../../../src/core/tree.js'
import type { DirNode } from '../../../src/core/tree.js'
import { createStore, runOn, settleOn } from './copies.js'

const store = createStore()
const world = { store, at: 7_000 }
const odd = Uint8Array.from({ length: 256 }, (_, index) => index)

async function base(): Promise<DirNode> {
  const { tree } = await settleOn(
    emptyTree,
    async (files) => {
      await files.writeFile('/lib/a', 'a', { mode: 0o755 })
      await files.writeFile('/lib/odd', odd)
      await files.writeFile('/lib/sub/b', 'b')
      await files.symlink('sub/b', '/lib/l')
      await files.mkdir('/lib/empty', { mode: 0o700 })
      await files.writeFile('/other', 'x')
    },
    { store, at: 1_000 },
  )
  return tree
}

describe('F5: a volume', () => {
  it('has all of the directory, under the same paths', async () => {
    await runOn(
      await base(),
      async (files) => {
        const { fs } = await files.volume('lib')
        expect(fs.readdirSync('/lib').map(String).sort()).toEqual(['a', 'empty', 'l', 'odd', 'sub'])
        expect(new Uint8Array(Buffer.from(fs.readFileSync('/lib/odd')))).toEqual(odd)
        expect(fs.readlinkSync('/lib/l')).toBe('sub/b')
        expect(fs.readFileSync('/lib/l', 'utf8')).toBe('b')
        expect(Number(fs.statSync('/lib/a').mode) & 0o7777).toBe(0o755)
        expect(Number(fs.statSync('/lib/empty').mode) & 0o7777).toBe(0o700)
        expect(fs.statSync('/lib/a').mtime.getTime()).toBe(1_000)
        expect(fs.existsSync('/other')).toBe(false)
      },
      world,
    )
  })

  it('what was only read is not written', async () => {
    const { changes } = await runOn(
      await base(),
      async (files) => {
        const { fs, save } = await files.volume()
        fs.readFileSync('/lib/odd')
        await save()
      },
      world,
    )
    expect(changes).toEqual([])
  })

  it('every kind of change comes back', async () => {
    const tree = await base()
    const { changes } = await runOn(
      tree,
      async (files) => {
        const { fs, save } = await files.volume('/lib')
        fs.writeFileSync('/lib/a', 'changed')
        fs.writeFileSync('/lib/odd', Buffer.from(odd).reverse())
        fs.rmSync('/lib/sub', { recursive: true })
        fs.writeFileSync('/lib/sub', 'now a file')
        fs.unlinkSync('/lib/l')
        fs.symlinkSync('../other', '/lib/l')
        fs.chmodSync('/lib/empty', 0o755)
        fs.mkdirSync('/lib/new/deep', { recursive: true })
        fs.writeFileSync('/lib/new/deep/n', 'n', { mode: 0o600 })
        await save()
        expect(await files.readFile('/lib/l', 'utf8')).toBe('x')
        fs.unlinkSync('/lib/a')
        await save()
        expect(await files.readFile('/lib/odd')).toEqual(Uint8Array.from(odd).reverse())
      },
      world,
    )
    const rows = freezeTree(applyChanges(tree, changes, 7_000)).map(([depth, name, kind]) => `${depth} ${name} ${kind}`)
    expect(rows).toEqual([
      '0  dir',
      '1 lib dir',
      '2 empty dir',
      '2 l link',
      '2 new dir',
      '3 deep dir',
      '4 n file',
      '2 odd file',
      '2 sub file',
      '1 other file',
    ])
    expect(changes).toContainEqual({ op: 'mode', path: '/lib/empty', mode: 0o755 })
    expect(changes).toContainEqual(expect.objectContaining({ path: '/lib/new/deep/n', mode: 0o600 }))
    expect(changes.filter(({ path }) => path === '/other')).toEqual([])
  })

  it('what is no directory is refused', async () => {
    await runOn(
      await base(),
      async (files) => {
        await expect(files.volume('/other')).rejects.toMatchObject({ code: 'ENOTDIR' })
        await expect(files.volume('/none')).rejects.toMatchObject({ code: 'ENOENT' })
      },
      world,
    )
  })
})
