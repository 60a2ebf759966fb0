/**
 * Paths as a body may write them, made absolute and plain.
 *
 * - A relative path starts at `/`; `..` above the root stays at the root. It is taken by its letters: `a/../b` is `b`
 *   whatever `a` is. Only the target of a link is followed step by step.
 * - What a disk would refuse is refused: NUL, names of more than 255 bytes, paths of more than 4096. So are halves of
 *   UTF-16 pairs, which no store would give back.
 */
import { Buffer } from 'node:buffer'
import { posix } from 'node:path'
import { fileError } from './error.js'
import type { FileOperation } from './error.js'

export function normalise(path: string, syscall: string): string {
  const doing = { syscall, path }
  if (typeof path !== 'string')
    throw fileError('EINVAL', { syscall, path: String(path) }, `a path is a text, not ${typeof path}`)
  checkText(path, doing)
  const plain = posix.resolve('/', path)
  checkLength(plain, doing)
  return plain
}

export function checkText(text: string, doing: FileOperation): void {
  if (text.includes('\0')) throw fileError('EINVAL', doing, 'it holds a NUL character')
  if (/\p{Surrogate}/u.test(text)) throw fileError('EINVAL', doing, 'it holds half a UTF-16 pair')
}

const longestName = 255
const longestPath = 4096

export function checkLength(path: string, doing: FileOperation): void {
  // No character takes more than three bytes per unit of UTF-16.
  if (path.length * 3 <= longestName) return
  const tooLong =
    Buffer.byteLength(path) > longestPath || path.split('/').some((name) => Buffer.byteLength(name) > longestName)
  if (tooLong) throw fileError('ENAMETOOLONG', doing)
}

export function namesIn(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

export function join(dir: string, name: string): string {
  return dir === '/' ? `/${name}` : `${dir}/${name}`
}

/** Of an absolute path; that of the root is the root. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** Whether a path is that directory or below it. */
export function isWithin(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir === '/' ? '/' : `${dir}/`)
}
