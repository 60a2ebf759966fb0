/**
 * A directory of the files as a memfs volume: a synchronous `fs` for libraries that need one. The volume is a copy;
 * only `save` changes the files.
 *
 * - `save` writes what differs from what was loaded or saved last, and nothing else: a file that was only read is not
 *   written.
 * - Links, modes and arbitrary bytes are preserved both ways.
 */
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { IFs } from 'memfs'
import { fileError } from './error.js'
import { join, normalise } from './path.js'
import type { FileVolume, Files } from './port.js'

/** A node of the volume; `value` is the hash of a file's content, or the target of a link. */
interface VolumeNode {
  readonly kind: 'file' | 'dir' | 'link'
  readonly mode: number
  readonly value: string
}

const loadMemfs = () => import('memfs')
let loading: ReturnType<typeof loadMemfs> | undefined

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** `from`: the files to load, if they are not the ones to save to. */
export async function loadVolume(files: Files, path = '/', from: Files = files): Promise<FileVolume> {
  const top = normalise(path, 'scandir')
  loading ??= loadMemfs()
  const { Volume, createFsFromVolume } = await loading
  const fs = createFsFromVolume(new Volume())
  fs.mkdirSync(top, { recursive: true })
  let known = new Map<string, VolumeNode>()
  const { kind } = await from.stat(top)
  if (kind !== 'dir') throw fileError('ENOTDIR', { syscall: 'scandir', path: top })
  await loadDir(top)

  async function loadDir(dir: string): Promise<void> {
    for (const name of await from.readdir(dir)) {
      const at = join(dir, name)
      known.set(at, await load(at))
    }
  }
  async function load(at: string): Promise<VolumeNode> {
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
      await writeBack(files, fs, { known, now })
      known = now
    },
  }
}

/** Everything in the volume below a directory; a directory before its entries. */
function survey(fs: IFs, top: string): Map<string, VolumeNode> {
  const found = new Map<string, VolumeNode>()
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
  readonly known: ReadonlyMap<string, VolumeNode>
  readonly now: ReadonlyMap<string, VolumeNode>
}

async function writeBack(files: Files, fs: IFs, { known, now }: Difference): Promise<void> {
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
