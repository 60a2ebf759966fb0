/** `skein terminate`: ends a thread for ever; it takes no more messages. */
import type { Command } from 'commander'
import { registerAsking } from './command.js'
import type { Perform } from '../run-command.js'

export function register(command: Command, perform: Perform): void {
  registerAsking(perform, command.option('--reason <reason>', 'why, for the journal'), {
    ask: (thread, { reason }) => thread.terminate(reason),
    done: 'terminated',
    nothing: 'nothing was changed',
  })
}
