/**
 * What a call adds to its working copy of the files: masking of secrets on the way in, and a check of files that the
 * body attaches.
 *
 * - Nothing that a call with secrets writes, neither bytes nor a path, in one piece or as a stream, contains a form of
 *   them (F3). Every tool, person and model could read the file; a tool that needs the value declares the variable.
 * - Reads are not masked, but their paths are: a path means the same file for writing and for reading.
 */
import { SkeinError } from '../../src/core/failure.js'
import type { Redactor } from '../../src/core/redact/redact.js'
import type { Files } from '../../src/files/port.js'
import { loadVolume } from '../../src/files/volume.js'

export function maskedFiles(files: Files, redactor: Redactor): Files {
  const at = (path: string): string => (typeof path === 'string' ? redactor.text(path) : path)
  const clean = (content: string | Uint8Array): string | Uint8Array => {
    if (typeof content === 'string') return redactor.text(content)
    // Anything else is refused by the working copy.
    return content instanceof Uint8Array ? redactor.bytes(content) : content
  }
  function readFile(path: string): Promise<Uint8Array>
  function readFile(path: string, encoding: 'utf8'): Promise<string>
  function readFile(path: string, encoding?: 'utf8'): Promise<Uint8Array | string> {
    return encoding === undefined ? files.readFile(at(path)) : files.readFile(at(path), encoding)
  }
  const masked: Files = {
    ...files,
    readFile,
    readStream: (path) => files.readStream(at(path)),
    stat: (path) => files.stat(at(path)),
    lstat: (path) => files.lstat(at(path)),
    exists: (path) => files.exists(at(path)),
    readdir: (path) => files.readdir(at(path)),
    readlink: (path) => files.readlink(at(path)),
    realpath: (path) => files.realpath(at(path)),
    writeFile: async (path, content, options) => files.writeFile(at(path), clean(content), options),
    appendFile: async (path, content) => files.appendFile(at(path), clean(content)),
    writeStream: async (path, content, options) => files.writeStream(at(path), cleanParts(content, redactor), options),
    mkdir: (path, options) => files.mkdir(at(path), options),
    rm: (path, options) => files.rm(at(path), options),
    move: (from, to) => files.move(at(from), at(to)),
    copy: (from, to) => files.copy(at(from), at(to)),
    symlink: (target, path) => files.symlink(at(target), at(path)),
    chmod: (path, mode) => files.chmod(at(path), mode),
    volume: (path) => loadVolume(masked, path),
  }
  return masked
}

async function* cleanParts(
  content: AsyncIterable<string | Uint8Array>,
  redactor: Redactor,
): AsyncGenerator<Uint8Array> {
  const stream = redactor.byteStream()
  for await (const part of content) yield stream.push(typeof part === 'string' ? new TextEncoder().encode(part) : part)
  yield stream.end()
}

/** The real paths of files to attach; throws if one does not exist, before anything is sent (S8). */
export async function presentFiles(files: Files, paths: unknown): Promise<readonly string[]> {
  if (!Array.isArray(paths) || !paths.every((path) => typeof path === 'string'))
    throw new SkeinError('BAD_OPTION', 'attachments is a list of paths of this thread’s files')
  const real: string[] = []
  for (const path of paths) {
    if (!(await files.exists(path)))
      throw new SkeinError('TOOL_INPUT_INVALID', `there is no file ${JSON.stringify(path)} to attach; nothing was sent`)
    real.push(await files.realpath(path))
  }
  return [...new Set(real)]
}
