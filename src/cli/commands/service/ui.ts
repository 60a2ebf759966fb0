/**
 * `skein ui`: the page of a store in a browser, without running any of its threads: those go on where hosts serve them.
 * Of a server (`--url`) it is the page that the server has itself.
 */
import { spawn } from 'node:child_process'
import type { Command } from 'commander'
import type { ExitCode } from '../../exit.js'
import { exitCode } from '../../exit.js'
import { pageOf, servePageOf } from '../../page-server.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { createLines } from '../../serving.js'

interface UiFlags {
  readonly port?: string
  readonly open: boolean
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .option('--port <port>', 'port of the page on loopback (default: 4100, or any that is free)')
    .option('--no-open', 'say where it is, and open no browser')
    .action((flags: UiFlags) => runCommand(command, (context) => showPage(context, flags)))
}

async function showPage(context: CommandContext, { port, open }: UiFlags): Promise<ExitCode> {
  const { store, out } = context
  const line = createLines(out)
  const tell = (page: string): void => {
    line(`the page is at ${page}`, { type: 'page', url: page })
    if (open && out.mode !== 'json') openBrowser(page)
  }
  if (store.server) {
    tell(pageOf(store.server.url.replace(/\/$/, '')))
    return exitCode.ok
  }
  const { connectSkein } = await import('../../../index.js')
  const client = await connectSkein({ backend: await store.source(), ...store.key })
  const server = await servePageOf(client, port === undefined ? undefined : await portOf(port)).catch(
    async (thrown: unknown) => {
      await client.close()
      throw thrown
    },
  )
  context.onStop(async () => {
    await server.close()
    await client.close()
  })
  tell(server.page)
  if (!(await client.hosted())) out.note('no host serves this store: threads are shown, and go on when one does')
  return new Promise<never>(() => undefined)
}

async function portOf(text: string): Promise<number> {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  const { SkeinError } = await import('../../../index.js')
  throw new SkeinError('BAD_OPTION', `--port ${text}: a port is a number from 0 to 65535`)
}

const openers: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', win32: 'explorer' }

/** A machine without a browser is no mistake: the address was told. */
function openBrowser(page: string): void {
  const child = spawn(openers[process.platform] ?? 'xdg-open', [page], { stdio: 'ignore', detached: true })
  child.on('error', () => undefined)
  child.unref()
}
