/**
 * The master key in a file. The store's own file is created on first use and read ever after; its text can be used as
 * SKEIN_KEY.
 *
 * - The file appears whole and synced, by a hard link that fails where one exists: processes that start at once agree
 *   on one key, and none reads half of it.
 * - The store's file is refused if anyone but its owner may read or write it. That of another owner opens for root
 *   alone.
 * - A file that holds no key is refused and never replaced: replacing it would lose every secret.
 * - A configured file (`keyFile`, SKEIN_KEY_FILE) is read, never created. Its group may read it, as with mounted
 *   secrets; others may not.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { link, mkdir, open, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemRandom } from '../../core/clock.js'
import { SkeinError, isSkeinError, toFailure } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import { keyBytes } from './cipher.js'
import { isGuessable, keyFromText, keyInText } from './master-key.js'

const hasModes = process.platform !== 'win32'
/** A key, and any white space around it that an editor may leave. */
const largestFile = 1024

/** `mayCreate`: whether a missing file is created. If not it was lost, and another key would be of no use. */
export async function keyFromFile(path: string, mayCreate = true): Promise<Buffer> {
  try {
    const found = await readKey(path)
    if (!found && !mayCreate)
      throw refused(path, {
        why: 'is gone, and the secrets of this store were written with it',
        advice: 'Put it back from a backup, or give its text as SKEIN_KEY',
      })
    const key = found ?? (await createKey(path))
    if (!key)
      throw refused(path, {
        why: 'is a link to nothing, or was taken away at once',
        advice: 'Make what it links to, or remove it',
      })
    return key
  } catch (thrown) {
    if (isSkeinError(thrown)) throw thrown
    const why = toFailure(thrown, 'BAD_OPTION').message
    throw refused(path, {
      why: `cannot be used: ${why}`,
      advice: 'Let the user that runs Skein own it and its folder, or give the key by SKEIN_KEY_FILE',
      cause: thrown,
    })
  }
}

/** A configured file. Its text is as in SKEIN_KEY; a pipe (`/dev/fd/3`) is read to its end, once. */
export async function keyFromConfiguredFile(path: string): Promise<Buffer> {
  let file: FileHandle | undefined
  try {
    file = await open(path, constants.O_RDONLY)
    const stat = await file.stat()
    if (stat.isDirectory())
      throw refused(path, { why: 'is a directory', advice: 'Name the file in it that holds the key' })
    if (hasModes && stat.isFile() && (stat.mode & 0o027) !== 0) throw tooOpen(path, stat.mode)
    return await keyFromText(await readText(file, path), `the key file ${path}`)
  } catch (thrown) {
    if (isSkeinError(thrown)) throw thrown
    const why =
      codeOf(thrown) === 'ENOENT' ? 'is not there' : `cannot be read: ${toFailure(thrown, 'BAD_OPTION').message}`
    throw refused(path, {
      why,
      advice: 'Name a file with 64 hex digits (openssl rand -hex 32) that the user of this process may read',
      cause: thrown,
    })
  } finally {
    await file?.close()
  }
}

async function readText(file: FileHandle, path: string): Promise<string> {
  const chunk = Buffer.alloc(largestFile + 1)
  let length = 0
  for (let bytesRead = -1; bytesRead !== 0 && length <= largestFile; length += bytesRead) {
    bytesRead = (await file.read(chunk, length, chunk.length - length, null)).bytesRead
  }
  if (length > largestFile)
    throw refused(path, {
      why: `holds more than ${largestFile} bytes`,
      advice: 'It is to hold the key and nothing else',
    })
  return chunk.toString('utf8', 0, length)
}

/** Undefined where there is no file. */
async function readKey(path: string): Promise<Buffer | undefined> {
  const file = await openIfExists(path)
  if (!file) return undefined
  try {
    const stat = await file.stat()
    if (!stat.isFile() || stat.size > largestFile) throw noKey(path)
    if (hasModes && (stat.mode & 0o077) !== 0) throw tooOpen(path, stat.mode)
    const key = keyInText((await file.readFile('latin1')).trim())
    if (!key || isGuessable(key)) throw noKey(path)
    return key
  } finally {
    await file.close()
  }
}

/** Non-blocking: opening a pipe would wait for its writer. */
async function openIfExists(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}

/** The key that the file holds in the end, whichever process created it. */
async function createKey(path: string): Promise<Buffer | undefined> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const draft = `${path}.${systemRandom.id()}.new`
  try {
    await writeDraft(draft)
    await link(draft, path).catch((thrown: unknown) => {
      if (codeOf(thrown) !== 'EEXIST') throw thrown
    })
  } finally {
    await rm(draft, { force: true })
  }
  if (hasModes) await syncAndClose(await open(folder, 'r'))
  return await readKey(path)
}

async function writeDraft(path: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(`${randomBytes(keyBytes).toString('base64url')}\n`)
  } finally {
    await syncAndClose(file)
  }
}

async function syncAndClose(file: FileHandle): Promise<void> {
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

function tooOpen(path: string, fileMode: number): SkeinError {
  const mode = (fileMode & 0o777).toString(8).padStart(4, '0')
  return refused(path, {
    why: `has the mode ${mode}: others than its owner can use it`,
    advice: 'Run chmod 600 on it, and rotate the key if somebody may have read it',
  })
}

function noKey(path: string): SkeinError {
  return refused(path, {
    why: 'holds no key (64 hex digits, or base64 of 32 random bytes)',
    advice: 'Restore it from a backup: without its key, the secrets of this store cannot be read',
  })
}

function refused(
  path: string,
  { why, advice, cause }: { readonly why: string; readonly advice: string; readonly cause?: unknown },
): SkeinError {
  return new SkeinError('BAD_OPTION', `the key file ${path} ${why}. ${advice}.`, { data: { path }, cause })
}

function codeOf(thrown: unknown): unknown {
  return isObject(thrown) ? thrown['code'] : undefined
}
