/** `skein pause`: a thread starts nothing more until it is resumed. */
import type { Command } from 'commander'
import { registerAsking } from './command.js'

export function register(command: Command): void {
  registerAsking(command.option('--reason <reason>', 'why, for the journal'), {
    ask: (thread, reason) => thread.pause(reason),
    done: 'paused',
    nothing: 'nothing was changed',
  })
}
