/**
 * The files of a thread as a tool's body sees them, and where they come from. Paths are POSIX and absolute (a
 * relative one starts at `/`); nothing of the host's file system is reachable.
 *
 * - Errors are `FileError`s (error.ts) with the codes of Node (ENOENT, EEXIST, ENOTDIR, EISDIR, ENOTEMPTY, ELOOP,
 *   EINVAL, ENAMETOOLONG, EBUSY for the root), and EDQUOT past the quota.
 * - Only operations that write a file create the directories above it; all others need them to exist.
 */
import type { IFs } from 'memfs'
import type { DirNode, TreeNode } from '../core/tree.js'

export interface FileStat {
  readonly kind: 'file' | 'dir' | 'link'
  readonly size: number
  readonly mode: number
  /** Milliseconds since 1970: the step that changed it. */
  readonly at: number
}

export interface Match {
  readonly path: string
  readonly line: number
  readonly text: string
}

export interface FileUsage {
  readonly bytes: number
  readonly files: number
  /** Files, links and directories. */
  readonly names: number
  readonly quotaBytes: number
  /** How many names there may be. */
  readonly quotaNames?: number
}

export interface Files {
  readFile(path: string): Promise<Uint8Array>
  readFile(path: string, encoding: 'utf8'): Promise<string>
  /** Makes the directories above it. A file that exists keeps its mode, unless one is given. */
  writeFile(path: string, content: string | Uint8Array, options?: 'utf8' | { readonly mode?: number }): Promise<void>
  /** Makes the directories above it. */
  appendFile(path: string, content: string | Uint8Array): Promise<void>
  /** For files that memory should not hold at once; it is opened when its first chunk is asked for. */
  readStream(path: string): AsyncIterable<Uint8Array>
  /** As `writeFile`, when all of the content has come. */
  writeStream(
    path: string,
    content: AsyncIterable<string | Uint8Array>,
    options?: { readonly mode?: number },
  ): Promise<void>
  stat(path: string): Promise<FileStat>
  /** Of a link itself. */
  lstat(path: string): Promise<FileStat>
  exists(path: string): Promise<boolean>
  /** Names in order. */
  readdir(path: string): Promise<readonly string[]>
  mkdir(path: string, options?: { readonly recursive?: boolean; readonly mode?: number }): Promise<void>
  /** A directory that is not empty goes only with `recursive`. `force`: nothing there is fine. */
  rm(path: string, options?: { readonly recursive?: boolean; readonly force?: boolean }): Promise<void>
  /** As `rename` of Node: it replaces a file, a link or an empty directory. */
  move(from: string, to: string): Promise<void>
  /**
   * With all below it. A directory is merged into one that is there. Links in it stay links; `from` and `to` are
   * followed.
   */
  copy(from: string, to: string): Promise<void>
  symlink(target: string, path: string): Promise<void>
  readlink(path: string): Promise<string>
  realpath(path: string): Promise<string>
  chmod(path: string, mode: number): Promise<void>
  /**
   * Lines that match, in order of path; files that are not text are passed over. A text is taken as a regular
   * expression of RE2, which no text can make hang: without backreferences and lookaround. A `RegExp` is taken as it
   * is. A glob without `/` speaks of names, at any depth; one with `/` of the path from `path`. A line of more than
   * 65,536 characters is searched in parts of that length, at whose ends `^` and `$` match too; its `text` is the
   * part. With `maxChars` a longer text is cut to so many characters around the match.
   */
  grep(
    pattern: RegExp | string,
    options?: {
      readonly path?: string
      readonly glob?: string
      readonly limit?: number
      readonly maxChars?: number
      readonly signal?: AbortSignal
    },
  ): Promise<readonly Match[]>
  /**
   * Paths that match a glob (`**`, `*`, `?`, `[…]`, `{a,b}`), a directory before what it holds. It counts from
   * `path`, or from `/` if it starts there. Names that start with a dot are names like others; links are found, not
   * followed.
   */
  find(
    glob: string,
    options?: { readonly path?: string; readonly limit?: number; readonly signal?: AbortSignal },
  ): Promise<readonly string[]>
  usage(): Promise<FileUsage>
  /** The directory (default: all) as a synchronous `fs`, for libraries that want one. */
  volume(path?: string): Promise<FileVolume>
}

export interface FileVolume {
  /** The directory under the same paths, as it was when it was loaded. */
  readonly fs: IFs
  /** Writes what has changed in `fs` back to the files. */
  save(): Promise<void>
}

/** A node of a source: a directory may come without its entries, which are then fetched separately. */
export type FileNodeInfo =
  | Exclude<TreeNode, DirNode>
  | (Omit<DirNode, 'entries'> & { readonly entries?: ReadonlyMap<string, FileNodeInfo> })

/** Where a working copy gets the files from. A snapshot: every answer is of the same instant. */
export interface FileSource {
  /** The node at a real path; a directory has its entries, those below it may come without. */
  node(path: string): Promise<FileNodeInfo | undefined>
  /** Token of everything below a real path (`observe(…, 'deep')`). */
  deep(path: string): Promise<string>
  usage(): Promise<FileUsage>
  bytes(hash: string): Promise<Uint8Array>
  stream(hash: string): AsyncIterable<Uint8Array>
  /** Stores a content that is too large to be kept until the call returns; the next part may be in the same memory. */
  store(content: AsyncIterable<Uint8Array>): Promise<{ readonly hash: string; readonly size: number }>
  /** The time of changes: that of the step. */
  readonly at: number
}
