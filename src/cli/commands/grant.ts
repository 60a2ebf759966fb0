/** `skein grant`: a thread may spend more, and goes on where it had stopped. */
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import { registerRequest } from './command.js'
import type { RunCommand } from '../run-command.js'

interface Options {
  readonly tokens?: number
  readonly cost?: number
  readonly toolCalls?: number
  readonly steps?: number
  readonly resume?: boolean
  readonly by?: string
}

export function register(command: Command, perform: RunCommand): void {
  command
    .option('--tokens <n>', 'so many more, input and output', whole)
    .option('--cost <usd>', 'so many more dollars', amount)
    .option('--tool-calls <n>', 'so many more calls', whole)
    .option('--steps <n>', 'so many more model calls', whole)
    .option('--resume', 'and let a turn go on that ended because nothing was left')
    .option('--by <name>', 'who gives it, for the journal')
  registerRequest<Options>(perform, command, {
    async ask(thread, { cost, tokens, toolCalls, steps, resume, by }) {
      const more = {
        ...defined({ tokens }),
        ...defined({ costUsd: cost }),
        ...defined({ toolCalls }),
        ...defined({ steps }),
      }
      await thread.grant(more, { ...defined({ resume: resume || undefined, by }) })
      return true
    },
    done: 'granted',
    nothing: 'nothing was granted',
  })
}

function amount(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < 0) throw new InvalidArgumentError('a number, 0 or more')
  return value
}

function whole(text: string): number {
  const value = amount(text)
  if (!Number.isInteger(value)) throw new InvalidArgumentError('a whole number')
  return value
}
