/**
 * The files of a call that knows secrets: what it writes, and where to, is masked on the way (F3). A value that
 * stands in a file could be read by every tool, by people and by the model; whoever needs it declares the variable.
 *
 * - No bytes and no path that such a call writes hold a form of its secrets, in one piece or in a stream.
 * - What it reads is as it is: a path is the same path for writing and for reading.
 */
import { loadVolume } from '../../src/files/volume.js'
import type { Redactor } from '../../src/core/redact/redact.js'
import type { Files } from '../../src/files/port.js'

export function maskedFiles(files: Files, redactor: Redactor): Files {
  const at = (path: string): string => (typeof path === 'string' ? redactor.text(path) : path)
  const clean = (content: string | Uint8Array): string | Uint8Array => {
    if (typeof content === 'string') return redactor.text(content)
    // What is no content is refused by the files themselves.
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
