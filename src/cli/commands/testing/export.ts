/** `skein export`: writes a thread, or its tree, into one JSON file that can be replayed and kept with the tests. */
import { writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { defined } from '../../../core/defined.js'
import type { ThreadExport } from '../../../index.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { byteCount, counted } from '../../format.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { withAnyClient } from '../../store.js'
import type { AnyClient } from '../../store.js'

interface Options {
  readonly tree?: boolean
  readonly output?: string
  readonly pin?: string
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .option('--tree', 'and all threads below it')
    .option('-o, --output <file>', 'the file (default: stdout)')
    .option('--pin <app>', 'with the prompts and tools of this app, so that a replay compares them, too')
    .action((id: string, options: Options) =>
      runCommand(command, (context) =>
        withAnyClient(context.store, (client) => exportTo(context, client, { ...options, id })),
      ),
    )
}

async function exportTo(
  { out }: CommandContext,
  client: AnyClient,
  { id, tree, output, pin }: Options & { readonly id: string },
): Promise<ExitCode> {
  const thread = await client.threads.get(id)
  const exported = await thread.export(defined({ tree }))
  const text = `${JSON.stringify(pin === undefined ? exported : await pinned(exported, pin))}\n`
  if (output === undefined) await out.bytes(Buffer.from(text))
  // As the files of a store: it holds what people and models have said.
  else await writeTo(output, text)
  tellLeftOut({ out }, exported)
  if (output === undefined) return exitCode.ok
  const records = exported.threads.reduce((sum, { entries }) => sum + entries.reduce((n, { count }) => n + count, 0), 0)
  const size = Buffer.byteLength(text)
  if (out.mode === 'json')
    out.json({ thread: id, file: output, threads: exported.threads.length, records, bytes: size })
  else
    out.print(
      `${counted(exported.threads.length, 'thread')}, ${counted(records, 'record')}, ${byteCount(size)} in ${output}\n`,
    )
  return exitCode.ok
}

async function pinned(exported: ThreadExport, app: string): Promise<ThreadExport> {
  const { pinRequests } = await import('../../../testing.js')
  return pinRequests(exported, { app })
}

async function writeTo(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 }).catch(async (thrown: unknown) => {
    const { SkeinError } = await import('../../../index.js')
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw new SkeinError('BAD_OPTION', `the export cannot be written to ${file}: ${why}`, { cause: thrown })
  })
}

function tellLeftOut({ out }: Pick<CommandContext, 'out'>, { leftOut: { blobs, sealedEntries } }: ThreadExport): void {
  const bytes = blobs.reduce((sum, { size }) => sum + size, 0)
  if (blobs.length > 0)
    out.note(`left out: ${counted(blobs.length, 'image or document', 'images and documents')}, ${byteCount(bytes)}`)
  if (sealedEntries > 0) out.note(`left out: values of variables, in ${counted(sealedEntries, 'entry', 'entries')}`)
}
