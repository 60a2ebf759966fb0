/** What links show, and copies in which there are none. */
import { describe, expect, it } from 'vitest'
import { collectAttachments } from '../../../src/core/attachments.js'
import { resolveLink, withoutLinks } from '../../../src/core/links.js'
import type { BrokenLink } from '../../../src/core/links.js'
import type { FileChange } from '../../../src/core/records/change.js'
import { applyChanges, emptyTree, thawTree } from '../../../src/core/tree.js'
import type { DirNode } from '../../../src/core/tree.js'

const hash = 'a'.repeat(64)
const file = (path: string): FileChange => ({ op: 'file', path, hash, size: 1 })
const link = (path: string, target: string): FileChange => ({ op: 'link', path, target })
const tree = (...changes: readonly FileChange[]): DirNode => applyChanges(emptyTree, changes, 1)
const names = (dir: DirNode): unknown =>
  Object.fromEntries([...dir.entries].map(([name, node]) => [name, node.kind === 'dir' ? names(node) : node.kind]))

describe('a path', () => {
  const files = tree(
    file('/a/b/c.txt'),
    link('/l', '/a'),
    link('/a/up', '../a/b'),
    link('/chain', 'l/up/c.txt'),
    link('/out', '../../../a/b'),
    link('/self', 'self'),
    link('/gone', '/nowhere'),
    link('/root', '/'),
  )
  it.each([
    ['/a/b/c.txt', '/a/b/c.txt'],
    ['/l/b/c.txt', '/a/b/c.txt'],
    ['/l/up', '/a/b'],
    ['/chain', '/a/b/c.txt'],
    ['/out', '/a/b'],
    ['/l/../l/b', '/a/b'],
    ['/root/root/a', '/a'],
    ['/self', undefined],
    ['/gone', undefined],
    ['/a/b/c.txt/more', undefined],
    ['/chain/', '/a/b/c.txt'],
  ])('%s shows %s', (path, real) => {
    expect(resolveLink(files, path)?.path).toBe(real)
  })

  it('a chain of links has an end', () => {
    const chain = (length: number): DirNode =>
      tree(file('/end'), ...Array.from({ length }, (_, n) => link(`/l${n}`, n === 0 ? '/end' : `/l${n - 1}`)))
    expect(resolveLink(chain(40), '/l39')?.path).toBe('/end')
    expect(resolveLink(chain(41), '/l40')).toBeUndefined()
  })
})

describe('a copy without links', () => {
  const copied = (
    files: DirNode,
    path: string,
  ): { readonly names: unknown; readonly broken: readonly BrokenLink[]; readonly same: boolean } => {
    const shown = resolveLink(files, path)
    const broken: BrokenLink[] = []
    const copy = shown && withoutLinks(files, shown, broken)
    return { names: copy?.kind === 'dir' ? names(copy) : copy?.kind, broken, same: copy === shown?.node }
  }

  it('links are what they show; a directory without any is itself', () => {
    const files = tree(
      file('/d/own'),
      link('/d/one', '/other/one'),
      link('/d/dir', '../other'),
      file('/other/one'),
      link('/other/two', 'one'),
      file('/plain/x'),
    )
    expect(copied(files, '/d')).toEqual({
      names: { own: 'file', one: 'file', dir: { one: 'file', two: 'file' } },
      broken: [],
      same: false,
    })
    expect(copied(files, '/plain')).toEqual({ names: { x: 'file' }, broken: [], same: true })
  })

  it('what shows nothing, or shows itself, is left out and told', () => {
    const files = tree(
      file('/d/own'),
      link('/d/gone', '/no'),
      link('/d/again', '/d'),
      link('/d/e/up', '..'),
      link('/d/there', '/f'),
      link('/f/back', '/d'),
    )
    expect(copied(files, '/d')).toEqual({
      names: { own: 'file', e: {}, there: {} },
      broken: [
        { path: '/d/gone', why: 'it is a link to /no, and nothing is there' },
        { path: '/d/again', why: 'it is a link to /d, which holds it' },
        { path: '/d/e/up', why: 'it is a link to .., which holds it' },
        { path: '/f/back', why: 'it is a link to /d, which holds it' },
      ],
      same: false,
    })
  })

  it('a tower of links that doubles at each floor is cut off', () => {
    const floors = Array.from({ length: 40 }, (_, n) => [
      link(`/t${n}/a`, `/t${n + 1}`),
      link(`/t${n}/b`, `/t${n + 1}`),
    ]).flat()
    const { broken } = copied(tree(...floors, file('/t40/x')), '/t0')
    expect(broken).toEqual([{ path: expect.any(String), why: expect.stringContaining('more behind links than 10000') }])
  })
})

it('what is collected is in the order in which it was named', () => {
  const files = tree(file('/z'), file('/a'), file('/m/z'), link('/b', '/m'))
  const { files: found, there, broken } = collectAttachments(files, ['/z', '/b', '/m/z', '/a', '/none'])
  expect([...thawTree(found).entries.keys()]).toEqual(['z', 'b', 'z-2', 'a'])
  expect({ there, broken }).toEqual({ there: ['/z', '/b', '/m/z', '/a'], broken: [{ path: '/none' }] })
})
