/**
 * `skein files push`: copies a real file into a thread, with its mode. Without a host the file is kept, and is written
 * when one comes.
 */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, posix } from 'node:path'
import type { Command } from 'commander'
import { defined } from '../../../core/defined.js'
import type { RemoteFiles } from '../../../client.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { markUnanswered, tellUnanswered } from '../../unanswered.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import type { CliProcess } from '../../process.js'
import { withAnyClient } from '../../store.js'
import { inFiles, filePath } from './entry.js'
import type { AnyClient } from '../../store.js'

interface PushRequest {
  readonly id: string
  readonly file: string
  readonly path?: string
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .argument('<file>', 'the file; - reads stdin')
    .argument(
      '[path]',
      'where to: a directory that is there or ends with a slash, or the name of the file (default: its own name in /)',
    )
    .action((id: string, file: string, path: string | undefined) =>
      runCommand(command, (context) =>
        withAnyClient(context.store, (client) => push(context, client, { id, file, ...defined({ path }) })),
      ),
    )
}

async function push(
  { out, shell }: CommandContext,
  client: AnyClient,
  { id, file, path: target }: PushRequest,
): Promise<ExitCode> {
  const { files } = await client.threads.get(id)
  const { mode, content } = await openSource(file, shell)
  const path = await inFiles(id, () => targetPath(files, file, target))
  const state = await inFiles(id, () =>
    markUnanswered(files.writeStream(path, content(), mode === undefined ? {} : { mode })),
  )
  const value = { thread: id, path, state }
  if (state === 'kept') return tellUnanswered(out, value)
  if (out.mode === 'json') out.json(value)
  else out.print(`${path}\n`)
  return exitCode.ok
}

interface Source {
  readonly mode?: number
  content(): AsyncIterable<Uint8Array>
}

async function openSource(file: string, { stdin }: CliProcess): Promise<Source> {
  if (file === '-') return { content: () => stdin }
  const { SkeinError } = await import('../../../index.js')
  const found = await stat(file).catch((thrown: Error) => {
    throw new SkeinError('BAD_OPTION', `${file} cannot be read: ${thrown.message}`)
  })
  if (!found.isFile()) throw new SkeinError('BAD_OPTION', `${file} is not a file; push takes one file at a time`)
  return { mode: found.mode & 0o777, content: () => createReadStream(file) }
}

/** The path of the file in the thread: a target that is a directory gets the name of the file. */
async function targetPath(files: RemoteFiles, file: string, target: string | undefined): Promise<string> {
  const path = await filePath(target ?? '/')
  const isFolder = target === undefined || target.endsWith('/') || (await isDir(files, path))
  if (!isFolder) return path
  if (file !== '-') return posix.join(path, basename(file))
  const { SkeinError } = await import('../../../index.js')
  throw new SkeinError('BAD_OPTION', 'what stdin gives needs a name: give the path of the file as the last argument')
}

async function isDir(files: RemoteFiles, path: string): Promise<boolean> {
  return (await files.exists(path)) && (await files.stat(path)).kind === 'dir'
}
