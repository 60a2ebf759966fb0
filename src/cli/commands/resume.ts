/** `skein resume`: a paused thread goes on, a failed turn is tried again. */
import type { Command } from 'commander'
import { registerAsking } from './command.js'
import type { Perform } from '../run-command.js'

export function register(command: Command, perform: Perform): void {
  registerAsking(perform, command.option('--tree', 'and all paused threads below it'), {
    ask: (thread, options) => thread.resume(options),
    done: 'resumed',
    nothing: 'there was nothing to resume',
  })
}
