/** A working copy behaves as Node's own files do: the same results, the same codes, the same tree in the end. */
import { promises as disk } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { emptyTree } from '../../../src/core/tree.js'
import type { Files } from '../../../src/files/port.js'
import { attempt, op, perform, plainOps } from './bodies.js'
import type { Op } from './bodies.js'
import { createStore, runOn, settleOn } from './copies.js'

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

/** The files of a real directory, with what Skein says on top of Node: writing makes the directories above. */
function filesOn(root: string) {
  const real = (path: string): string => join(root, path)
  /** A link that leads nowhere is ENOENT. Node says so of the end of a path, and now this, now that of its middle. */
  async function makeDirs(path: string): Promise<void> {
    for (let at = path; at !== root; at = dirname(at)) {
      if (await disk.lstat(at).catch(() => undefined)) {
        await disk.stat(at)
        break
      }
    }
    await disk.mkdir(path, { recursive: true })
  }
  /** Node does not make the directories above a file. */
  async function above(path: string, write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || (await disk.lstat(path).catch(() => undefined))) throw error
      await makeDirs(dirname(path))
      await write()
    }
  }
  async function put(path: string, text: string, mode: number | undefined): Promise<void> {
    await above(real(path), () => disk.writeFile(real(path), text))
    if (mode !== undefined) await disk.chmod(real(path), mode)
  }
  async function stat(path: string, of: 'stat' | 'lstat') {
    const found = await disk[of](real(path))
    if (found.isSymbolicLink()) return { kind: 'link', size: found.size, mode: 0o777 }
    return found.isDirectory()
      ? { kind: 'dir', size: 0, mode: found.mode & 0o7777 }
      : { kind: 'file', size: found.size, mode: found.mode & 0o7777 }
  }
  async function rm(path: string, { recursive, force }: { recursive: boolean; force: boolean }): Promise<void> {
    const found = await disk.lstat(real(path)).catch((error: unknown) => {
      if (force && codeOf(error) === 'ENOENT') return undefined
      throw error
    })
    // Without `recursive` an empty directory goes too.
    if (found?.isDirectory() && !recursive) await disk.rmdir(real(path))
    else await disk.rm(real(path), { recursive, force })
  }
  async function copy(from: string, to: string): Promise<void> {
    const source = await disk.realpath(real(from))
    if (!(await disk.stat(source)).isDirectory()) return disk.copyFile(source, real(to))
    throw Object.assign(new Error('directories are not compared'), { code: 'SKIP' })
  }
  const change = async (one: Op): Promise<unknown> => {
    switch (one.op) {
      case 'writeFile':
        return put(one.path, one.text, one.mode)
      case 'appendFile':
        return above(real(one.path), () => disk.appendFile(real(one.path), one.text))
      case 'mkdir':
        return one.recursive ? makeDirs(real(one.path)) : disk.mkdir(real(one.path))
      case 'rm':
        return rm(one.path, one)
      case 'move':
        return disk.rename(real(one.path), real(one.to))
      case 'copy':
        return copy(one.path, one.to)
      case 'symlink':
        return disk.symlink(one.target, real(one.path))
      case 'chmod':
        return disk.chmod(real(one.path), one.mode)
      default:
        throw new Error(`${one.op} is not of Node`)
    }
  }
  return async (one: Op): Promise<unknown> => {
    switch (one.op) {
      case 'readFile':
        return disk.readFile(real(one.path), 'utf8')
      case 'stat':
      case 'lstat':
        return stat(one.path, one.op)
      case 'readdir':
        return (await disk.readdir(real(one.path))).sort()
      case 'exists':
        return disk.access(real(one.path)).then(
          () => true,
          () => false,
        )
      case 'readlink':
        return disk.readlink(real(one.path))
      case 'realpath':
        return posix.resolve('/', (await disk.realpath(real(one.path))).slice(root.length))
      default:
        return change(one)
    }
  }
}

/** Everything, with contents and without times. */
async function dump(files: Files, dir = '/'): Promise<readonly unknown[]> {
  const rows: unknown[] = []
  for (const name of await files.readdir(dir)) {
    const path = posix.join(dir, name)
    const { kind, mode } = await files.lstat(path)
    if (kind === 'link') rows.push([path, kind, await files.readlink(path)])
    else if (kind === 'file') rows.push([path, kind, mode, await files.readFile(path, 'utf8')])
    else rows.push([path, kind, mode], ...(await dump(files, path)))
  }
  return rows
}

async function dumpDisk(root: string, dir = '/'): Promise<readonly unknown[]> {
  const rows: unknown[] = []
  for (const name of (await disk.readdir(join(root, dir))).sort()) {
    const path = posix.join(dir, name)
    const found = await disk.lstat(join(root, path))
    if (found.isSymbolicLink()) rows.push([path, 'link', await disk.readlink(join(root, path))])
    else if (found.isFile())
      rows.push([path, 'file', found.mode & 0o7777, await disk.readFile(join(root, path), 'utf8')])
    else rows.push([path, 'dir', found.mode & 0o7777], ...(await dumpDisk(root, path)))
  }
  return rows
}

/** With modes that lock out nobody, for tests are not always run by root. */
const plainOp = op
  .filter((one) => plainOps.includes(one.op))
  .map((one) => {
    if (one.op === 'mkdir') return { ...one, mode: undefined }
    return one.op === 'chmod' ? { ...one, mode: one.mode | 0o700 } : one
  })

it('F5: any operations give what Node gives on a disk', async () => {
  const compared = new Set<unknown>()
  process.umask(0o022)
  await fc.assert(
    fc.asyncProperty(fc.array(plainOp, { minLength: 4, maxLength: 25 }), async (ops) => {
      const root = await disk.realpath(await disk.mkdtemp(join(tmpdir(), 'skein-files-')))
      const onDisk = filesOn(root)
      try {
        const body = async (files: Files): Promise<void> => {
          for (const one of ops) {
            const expected = await attempt(() => onDisk(one))
            if ('code' in expected && expected.code === 'SKIP') continue
            const given = (await perform(files, [one]))[0]
            expect(given, JSON.stringify(one)).toMatchObject('code' in expected ? { code: expected.code } : expected)
            compared.add('code' in expected ? expected.code : 'fine')
          }
          expect(await dump(files)).toEqual(await dumpDisk(root))
        }
        const world = { store: createStore(), at: 1 }
        const { tree } = await settleOn(emptyTree, body, world)
        // The changes that are left give the same tree.
        await runOn(tree, async (files) => expect(await dump(files)).toEqual(await dumpDisk(root)), world)
      } finally {
        await disk.rm(root, { recursive: true })
      }
    }),
    { numRuns: 200 },
  )
  // The kinds of failure that a run is sure to meet.
  expect([...compared]).toEqual(
    expect.arrayContaining(['fine', 'ENOENT', 'EEXIST', 'ENOTDIR', 'EISDIR', 'ENOTEMPTY', 'EINVAL']),
  )
})
