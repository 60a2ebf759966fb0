/** `skein pause`: a thread starts nothing more until it is resumed. */
import type { Command } from 'commander'
import { registerAsking } from './command.js'

export function register(command: Command): void {
  registerAsking(command.option('--reason <reason>', 'why, for the journal'), {
    ask: async (thread, reason) => {
      const before = await thread.status()
      await thread.pause(reason)
      return before !== 'paused' && (await thread.status()) === 'paused'
    },
    done: 'paused',
    nothing: 'nothing was changed',
  })
}
