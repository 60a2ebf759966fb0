/**
 * `skein files cat`: prints the bytes of a file as they are. On a terminal control characters are made visible, as in
 * all output.
 */
import { isUtf8 } from 'node:buffer'
import type { Command } from 'commander'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { visible } from '../../visible.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { withAnyClient } from '../../store.js'
import type { AnyClient } from '../../store.js'
import { inFiles, filePath } from './entry.js'

interface CatRequest {
  readonly id: string
  readonly path: string
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .argument('<path>', 'the file')
    .action((id: string, path: string) =>
      runCommand(command, (context) => withAnyClient(context.store, (client) => cat(context, client, { id, path }))),
    )
}

async function cat({ out }: CommandContext, client: AnyClient, { id, ...request }: CatRequest): Promise<ExitCode> {
  const path = await filePath(request.path)
  const { files } = await client.threads.get(id)
  await inFiles(id, async () => {
    if (out.mode === 'plain') {
      for await (const chunk of files.readStream(path)) await out.bytes(chunk)
      return
    }
    const content = Buffer.from(await files.readFile(path))
    if (out.mode === 'live') out.print(visible(content.toString('utf8')))
    else
      out.json({
        thread: id,
        path,
        size: content.length,
        ...(isUtf8(content) ? { text: content.toString('utf8') } : { base64: content.toString('base64') }),
      })
  })
  return exitCode.ok
}
