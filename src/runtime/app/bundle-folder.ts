/**
 * Where bundles of apps are: in `node_modules/.cache/skein` of the app, else in one folder of this user below the
 * temporary directory. Both are reused: a bundle is named by its contents, so a second start writes the same file.
 *
 * BF1 A bundle below the temporary directory is where no other user can write: the folder is this user's, has mode
 *     0700 and is no link. Where somebody else has taken that name, the process makes a folder of its own, and
 *     removes it when it exits.
 * BF2 What no process has used for three days is removed by the next one that writes a bundle there. A process
 *     renews the time of its bundles every hour, so one that its workers may import again stays.
 */
import { rmSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { idleClock, systemClock } from '../../core/clock.js'
import { isObject } from '../../core/json.js'

export interface BundleFile {
  readonly name: string
  readonly text: string
}

/** Returns the path; undefined where neither folder can be written to. `cache`: that of the app, if it has one. */
export async function writeBundle(cache: string | undefined, file: BundleFile): Promise<string | undefined> {
  const written =
    (cache === undefined ? undefined : await possibly(() => writeTo(cache, file))) ??
    (await possibly(async () => writeTo(await temporaryFolder(), file)))
  if (written !== undefined) renewHourly(written)
  return written
}

async function writeTo(folder: string, { name, text }: BundleFile): Promise<string> {
  const target = join(folder, name)
  await mkdir(folder, { recursive: true })
  await writeFile(`${target}.${process.pid}`, text)
  await rename(`${target}.${process.pid}`, target)
  await possibly(() => removeUnused(folder))
  return target
}

const unusedMs = 3 * 24 * 60 * 60 * 1_000
const renewalMs = 60 * 60 * 1_000

/** Also what a process that was killed had not renamed. */
async function removeUnused(folder: string): Promise<void> {
  const before = systemClock.now() - unusedMs
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const found = await possibly(() => stat(path))
    if (/\.mjs(?:\.\d+)?$/.test(name) && found && found.mtimeMs < before) await rm(path, { force: true })
  }
}

const used = new Set<string>()
let isRenewing = false

function renewHourly(path: string): void {
  used.add(path)
  if (isRenewing) return
  isRenewing = true
  idleClock.wakeAt(idleClock.now() + renewalMs, renewAll)
}

function renewAll(): void {
  const now = new Date(systemClock.now())
  for (const path of used) utimes(path, now, now).catch(() => used.delete(path))
  idleClock.wakeAt(idleClock.now() + renewalMs, renewAll)
}

async function temporaryFolder(): Promise<string> {
  const owner = process.getuid?.()
  const shared = join(tmpdir(), `skein-apps-${owner ?? 'own'}`)
  await possibly(() => mkdir(shared, { mode: 0o700 }))
  const found = await possibly(() => lstat(shared))
  // Where files have no owners the temporary directory itself is the user's.
  const isOwn = owner === undefined || (found?.uid === owner && (found.mode & 0o077) === 0)
  return found?.isDirectory() && isOwn ? shared : processFolder()
}

let ownFolder: string | undefined

async function processFolder(): Promise<string> {
  if (ownFolder !== undefined) return ownFolder
  const folder = await mkdtemp(join(tmpdir(), 'skein-app-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  ownFolder = folder
  return folder
}

const refusals = new Set(['EACCES', 'EROFS', 'EPERM', 'ENOSPC', 'ENOTDIR', 'EEXIST', 'ENOENT'])

/** Undefined where the file system refuses, as in a read-only image. */
async function possibly<Value>(act: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await act()
  } catch (thrown) {
    if (isObject(thrown) && refusals.has(String(thrown['code']))) return undefined
    throw thrown
  }
}
