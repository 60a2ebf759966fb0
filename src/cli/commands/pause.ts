/** `skein pause`: a thread starts nothing more until it is resumed. */
import type { Command } from 'commander'
import { registerRequest } from './command.js'
import type { RunCommand } from '../run-command.js'

export function register(command: Command, perform: RunCommand): void {
  registerRequest(
    perform,
    command.option('--reason <reason>', 'why, for the journal').option('--tree', 'and all threads below it'),
    {
      ask: (thread, options) => thread.pause(options),
      done: 'paused',
      nothing: 'nothing was changed',
    },
  )
}
