/** `skein files ls`: lists names, one a line; that of a directory ends with a slash. */
import { posix } from 'node:path'
import type { Command } from 'commander'

import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { dateTime, oneLine, table } from '../../format.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { withAnyClient } from '../../store.js'
import { entriesIn, entryAt, filesNow, inFiles, filePath } from './entry.js'
import type { ShownFile } from './entry.js'
import type { AnyClient } from '../../store.js'

interface Options {
  readonly long?: boolean
  readonly recursive?: boolean
}

interface LsRequest extends Options {
  readonly id: string
  readonly path: string
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .argument('[path]', 'directory or file', '/')
    .option('-l, --long', 'with mode, size and time')
    .option('-R, --recursive', 'all below the directory')
    .action((id: string, path: string, options: Options) =>
      runCommand(command, (context) =>
        withAnyClient(context.store, (client) => ls(context, client, { ...options, id, path })),
      ),
    )
}

async function ls(
  { out }: CommandContext,
  client: AnyClient,
  { id, long, recursive, ...request }: LsRequest,
): Promise<ExitCode> {
  const path = await filePath(request.path)
  const files = await filesNow(await client.threads.get(id))
  const entries = await inFiles(id, async () => {
    if ((await files.stat(path)).kind !== 'dir') return [await entryAt(files, path)]
    const found: ShownFile[] = []
    for await (const entry of entriesIn(files, path, recursive === true)) found.push(entry)
    return found
  })
  const nameOf = (entry: ShownFile): string => {
    const name = posix.relative(path, entry.path) || posix.basename(entry.path)
    return `${oneLine(name, Infinity)}${entry.kind === 'dir' ? '/' : ''}`
  }
  if (out.mode === 'json') out.json({ thread: id, path, entries })
  else if (long)
    out.print(
      table(
        entries.map((entry) => [
          modeText(entry),
          String(entry.size).padStart(8),
          dateTime(entry.at),
          `${nameOf(entry)}${entry.target === undefined ? '' : ` -> ${oneLine(entry.target, Infinity)}`}`,
        ]),
      ),
    )
  else out.print(entries.map((entry) => `${nameOf(entry)}\n`).join(''))
  return exitCode.ok
}

const kinds = { file: '-', dir: 'd', link: 'l' } as const

/** `-rw-r--r--` */
function modeText({ kind, mode }: ShownFile): string {
  const bits = [...'rwxrwxrwx'].map((letter, index) => (mode & (0o400 >> index) ? letter : '-'))
  return `${kinds[kind]}${bits.join('')}`
}
