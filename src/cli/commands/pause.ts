/** `skein pause`: a thread starts nothing more until it is resumed. */
import type { Command } from 'commander'
import { registerAsking } from './command.js'
import type { Perform } from '../run-command.js'

export function register(command: Command, perform: Perform): void {
  registerAsking(
    perform,
    command.option('--reason <reason>', 'why, for the journal').option('--tree', 'and all threads below it'),
    {
      ask: (thread, options) => thread.pause(options),
      done: 'paused',
      nothing: 'nothing was changed',
    },
  )
}
