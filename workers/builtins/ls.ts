/** `ls` on the thread's own files: one entry a line; a directory ends with `/`, a link says where it leads. */
import { posix } from 'node:path'
import type { ToolState } from '../../src/agent/define.js'
import type { Files } from '../../src/files/port.js'
import type { LsArgs } from '../../src/tools/own/args.js'
import { outputBytes } from '../../src/tools/own/limits.js'
import { threadPath, touching } from './path.js'
import { listLines } from './text.js'

export async function run({ files }: Pick<ToolState, 'files'>, args: LsArgs): Promise<string> {
  const path = threadPath(args.path ?? '/')
  const entries = await touching(path, async () => {
    const names = await files.readdir(path)
    return Promise.all(names.map((name) => entryOf(files, posix.join(path, name), name)))
  })
  return listLines(entries, outputBytes, 'find what you need with glob')
}

async function entryOf(files: Files, path: string, name: string): Promise<string> {
  const { kind, size } = await files.lstat(path)
  if (kind === 'dir') return `${name}/`
  return kind === 'link' ? `${name} -> ${await files.readlink(path)}` : `${name} (${size} bytes)`
}
