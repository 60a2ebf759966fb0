/** `skein cancel`: ends the running turn; the thread lives on. */
import type { Command } from 'commander'
import { registerRequest } from './command.js'
import type { RunCommand } from '../run-command.js'

export function register(command: Command, perform: RunCommand): void {
  registerRequest(perform, command.option('--reason <reason>', 'why, for the journal'), {
    ask: (thread, options) => thread.cancel(options),
    done: 'cancelled',
    nothing: 'no turn was running',
  })
}
