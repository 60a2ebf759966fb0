/** `skein resume`: a paused thread goes on, a failed turn is tried again. */
import type { Command } from 'commander'
import { registerRequest } from './command.js'
import type { RunCommand } from '../run-command.js'

export function register(command: Command, perform: RunCommand): void {
  registerRequest(perform, command.option('--tree', 'and all paused threads below it'), {
    ask: (thread, options) => thread.resume(options),
    done: 'resumed',
    nothing: 'there was nothing to resume',
  })
}
