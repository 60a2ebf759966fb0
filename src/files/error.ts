/**
 * Errors of files in the form of Node's: the same codes and messages, so that a body and the libraries in it can handle
 * them like those of `node:fs`.
 */
import { defined } from '../core/defined.js'

const meanings = {
  ENOENT: 'no such file or directory',
  EEXIST: 'file already exists',
  ENOTDIR: 'not a directory',
  EISDIR: 'illegal operation on a directory',
  ENOTEMPTY: 'directory not empty',
  ELOOP: 'too many symbolic links encountered',
  EINVAL: 'invalid argument',
  ENAMETOOLONG: 'name too long',
  EBUSY: 'resource busy or locked',
  EDQUOT: 'disk quota exceeded',
  EBADF: 'bad file descriptor',
  EROFS: 'read-only file system',
} as const

export type FileErrorCode = keyof typeof meanings

export interface FileError extends Error {
  readonly code: FileErrorCode
  readonly syscall: string
  readonly path: string
  readonly dest?: string
  /** More than Node would say. */
  readonly why?: string
}

export interface FileOperation {
  readonly syscall: string
  readonly path: string
  readonly dest?: string
}

/** `why` is added where Node's message alone would not help. */
export function fileError(code: FileErrorCode, { syscall, path, dest }: FileOperation, why?: string): FileError {
  const what = `${code}: ${meanings[code]}, ${syscall} '${path}'${dest === undefined ? '' : ` -> '${dest}'`}`
  return Object.assign(new Error(why === undefined ? what : `${what}: ${why}`), {
    code,
    syscall,
    path,
    ...defined({ dest, why }),
  })
}

export function isFileError(thrown: unknown): thrown is FileError {
  return (
    thrown instanceof Error &&
    'code' in thrown &&
    typeof thrown.code === 'string' &&
    Object.hasOwn(meanings, thrown.code)
  )
}
