/** `skein terminate`: ends a thread for ever; it takes no more messages. */
import type { Command } from 'commander'
import { registerRequest } from './command.js'
import type { RunCommand } from '../run-command.js'

export function register(command: Command, perform: RunCommand): void {
  registerRequest(perform, command.option('--reason <reason>', 'why, for the journal'), {
    ask: (thread, options) => thread.terminate(options),
    done: 'terminated',
    nothing: 'nothing was changed',
  })
}
