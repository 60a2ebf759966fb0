/**
 * Searches a real directory line by line.
 *
 * - Links are not followed, so nothing outside is ever read; files that are not text are skipped.
 * - Matches are in order of path, and the search stops at the limit.
 */
import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Pattern } from '../../src/files/search/pattern.js'
import type { Match } from '../../src/files/port.js'
import { mostMatches, outputBytes } from '../../src/tools/own/limits.js'
import { linesOfText } from '../builtins/lines.js'
import { errorCode } from '../builtins/path.js'
import { openInside } from './root.js'
import type { Root } from './root.js'

/** Not searched unless the search begins inside. */
export const skipped: ReadonlySet<string> = new Set(['.git', 'node_modules'])

interface Search {
  readonly pattern: Pattern
  readonly signal: AbortSignal
}

export async function searchTree(root: Root, from: string, search: Search): Promise<readonly Match[]> {
  const matches: Match[] = []
  for await (const real of filesBelow(from)) {
    search.signal.throwIfAborted()
    for (const match of await searchFile(root, real, search)) {
      matches.push(match)
      if (matches.length >= mostMatches) return matches
    }
  }
  return matches
}

async function* filesBelow(path: string): AsyncGenerator<string> {
  const entries = await entriesOf(path)
  if (!entries) {
    yield path
    return
  }
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const below = join(path, entry.name)
    if (entry.isDirectory() && !skipped.has(entry.name)) yield* filesBelow(below)
    else if (entry.isFile()) yield below
  }
}

/** Undefined if it is not a directory. One that cannot be read, or has been removed, is skipped. */
async function entriesOf(path: string) {
  try {
    return await readdir(path, { withFileTypes: true })
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOTDIR') return undefined
    if (isPassedOver(thrown)) return []
    throw thrown
  }
}

async function searchFile(root: Root, real: string, { pattern, signal }: Search): Promise<readonly Match[]> {
  const path = relative(root.dir, real)
  const matches: Match[] = []
  try {
    const handle = await openInside(root, real)
    try {
      let count = 0
      for await (const { line, starts } of linesOfText(handle.createReadStream({ autoClose: false }), {
        path,
        longest: outputBytes,
      })) {
        if (starts) count++
        const text = line.replace(/\r?\n$/, '')
        if (pattern.test(text)) matches.push({ path, line: count, text })
        if (matches.length >= mostMatches || signal.aborted) break
      }
      return matches
    } finally {
      await handle.close()
    }
  } catch (thrown) {
    if (isPassedOver(thrown)) return []
    throw thrown
  }
}

function isPassedOver(thrown: unknown): boolean {
  return ['EACCES', 'EPERM', 'ENOENT', 'ELOOP', 'TOOL_PATH_INVALID'].includes(errorCode(thrown) ?? '')
}
