/**
 * `skein host`: serves a store until it is stopped. On NATS it joins the hosts that serve the namespace already.
 *
 * - The first signal hands over in good order: nothing new starts, running calls may land, partitions are given
 *   back. The second ends the process at once, which loses nothing either.
 */
import type { Command } from 'commander'
import type { ExitCode } from '../exit.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { createServingLines, eventLine, isTold, openServingHost, serveOptions } from '../serving.js'
import { stopServing, tellServing } from '../serving.js'
import type { ServeFlags, ServeRequest } from '../serving.js'

export function register(command: Command, runCommand: RunCommand): void {
  serveOptions(command).action((app: string, options: ServeFlags) =>
    runCommand(command, (context) => serve(context, { ...options, app })),
  )
}

async function serve(context: CommandContext, request: ServeRequest): Promise<ExitCode> {
  const line = createServingLines(context, request)
  // What the host begins with is in its first line.
  let serving = false
  const skein = await openServingHost(context, request, {
    onHostEvent: (event) => serving && isTold(context, request, event) && line(eventLine(event), event),
  })
  context.onStop(async () => {
    await stopServing(skein, line)
  })
  await tellServing(context, skein, line)
  serving = true
  return new Promise<never>(() => undefined)
}
