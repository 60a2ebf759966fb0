/**
 * Paths as a body writes them, made absolute and normal.
 *
 * - A relative path starts at `/`; `..` above the root stays at the root. Normalising is lexical: `a/../b` is `b`
 *   whatever `a` is. Only the target of a link is resolved step by step.
 * - What a disk would refuse is refused: NUL, names of more than 255 bytes, paths of more than 4096. So are lone
 *   surrogates, which no store would return unchanged.
 */
import { Buffer } from 'node:buffer'
import { posix } from 'node:path'
import { fileError } from './error.js'
import type { FileOperation } from './error.js'

export function normalise(path: string, syscall: string): string {
  const operation = { syscall, path }
  if (typeof path !== 'string')
    throw fileError('EINVAL', { syscall, path: String(path) }, `a path is a text, not ${typeof path}`)
  checkText(path, operation)
  const normal = posix.resolve('/', path)
  checkLength(normal, operation)
  return normal
}

export function checkText(text: string, operation: FileOperation): void {
  if (text.includes('\0')) throw fileError('EINVAL', operation, 'it holds a NUL character')
  if (/\p{Surrogate}/u.test(text)) throw fileError('EINVAL', operation, 'it holds half a UTF-16 pair')
}

const longestName = 255
const longestPath = 4096

export function checkLength(path: string, operation: FileOperation): void {
  // No character takes more than three bytes per unit of UTF-16.
  if (path.length * 3 <= longestName) return
  const tooLong =
    Buffer.byteLength(path) > longestPath || path.split('/').some((name) => Buffer.byteLength(name) > longestName)
  if (tooLong) throw fileError('ENAMETOOLONG', operation)
}

export function namesIn(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

export function join(dir: string, name: string): string {
  return dir === '/' ? `/${name}` : `${dir}/${name}`
}

/** The directory above an absolute path; the root is above itself. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** Whether a path is that directory or below it. */
export function isWithin(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir === '/' ? '/' : `${dir}/`)
}
