/**
 * A directory of the files as a memfs volume: a synchronous `fs` for libraries that want one. The volume is a view;
 * what counts are the files.
 *
 * - `save` brings back what differs from what was loaded or saved last, and nothing else: a file that a library only
 *   read is not written.
 * - Links, modes and any bytes survive the way there and back.
 */
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { IFs } from 'memfs'
import { fileError } from './error.js'
import { join, normalise } from './path.js'
import type { FileVolume, Files } from './port.js'

/** What is known of a path: of a file its content's hash, of a link its target. */
interface Known {
  readonly kind: 'file' | 'dir' | 'link'
  readonly mode: number
  readonly value: string
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** `from`: where it is loaded from, if not from where it is saved to. */
export async function loadVolume(files: Files, path = '/', from: Files = files): Promise<FileVolume> {
  const top = normalise(path, 'scandir')
  const { Volume, createFsFromVolume } = await import('memfs')
  const fs = createFsFromVolume(new Volume())
  fs.mkdirSync(top, { recursive: true })
  let known = new Map<string, Known>()
  const { kind } = await from.stat(top)
  if (kind !== 'dir') throw fileError('ENOTDIR', { syscall: 'scandir', path: top })
  await loadDir(top)

  async function loadDir(dir: string): Promise<void> {
    for (const name of await from.readdir(dir)) {
      const at = join(dir, name)
      known.set(at, await load(at))
    }
  }
  async function load(at: string): Promise<Known> {
    const stat = await from.lstat(at)
    const { mode } = stat
    if (stat.kind === 'link') {
      const target = await from.readlink(at)
      fs.symlinkSync(target, at)
      return { kind: 'link', mode: 0, value: target }
    }
    let value = ''
    if (stat.kind === 'file') {
      const bytes = await from.readFile(at)
      value = hashOf(bytes)
      fs.writeFileSync(at, Buffer.from(bytes))
    } else {
      fs.mkdirSync(at)
      await loadDir(at)
    }
    fs.chmodSync(at, mode)
    fs.utimesSync(at, stat.at / 1000, stat.at / 1000)
    return { kind: stat.kind, mode, value }
  }

  return {
    fs,
    async save() {
      const now = survey(fs, top)
      await bringBack(files, fs, { known, now })
      known = now
    },
  }
}

/** Everything in the volume below a directory, a directory before what it holds. */
function survey(fs: IFs, top: string): Map<string, Known> {
  const found = new Map<string, Known>()
  const visit = (dir: string): void => {
    for (const name of fs.readdirSync(dir).map(String).sort()) {
      const at = join(dir, name)
      const stat = fs.lstatSync(at)
      const mode = Number(stat.mode) & 0o7777
      if (stat.isSymbolicLink()) found.set(at, { kind: 'link', mode: 0, value: String(fs.readlinkSync(at)) })
      else if (stat.isDirectory()) {
        found.set(at, { kind: 'dir', mode, value: '' })
        visit(at)
      } else found.set(at, { kind: 'file', mode, value: hashOf(bytesAt(fs, at)) })
    }
  }
  if (fs.existsSync(top)) visit(top)
  return found
}

function bytesAt(fs: IFs, path: string): Uint8Array {
  return Buffer.from(fs.readFileSync(path))
}

interface Difference {
  readonly known: ReadonlyMap<string, Known>
  readonly now: ReadonlyMap<string, Known>
}

async function bringBack(files: Files, fs: IFs, { known, now }: Difference): Promise<void> {
  for (const [path, { kind }] of known) {
    if (now.get(path)?.kind !== kind) await files.rm(path, { recursive: true, force: true })
  }
  for (const [path, { kind, mode, value }] of now) {
    const before = known.get(path)
    const same = before?.kind === kind && before.value === value
    if (same && before.mode === mode) continue
    if (same) await files.chmod(path, mode)
    else if (kind === 'dir') await files.mkdir(path, { recursive: true, mode })
    else if (kind === 'file') await files.writeFile(path, bytesAt(fs, path), { mode })
    else {
      await files.rm(path, { force: true })
      await files.symlink(value, path)
    }
  }
}
