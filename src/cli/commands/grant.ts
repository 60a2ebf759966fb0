/** `skein grant`: lets a thread spend more, and with `--resume` go on where it had stopped. */
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import { registerThreadCommand } from './lifecycle.js'
import type { RunCommand } from '../run-command.js'

interface Options {
  readonly tokens?: number
  readonly cost?: number
  readonly toolCalls?: number
  readonly steps?: number
  readonly resume?: boolean
  readonly by?: string
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .option('--tokens <n>', 'so many more, input and output', wholeNumber)
    .option('--cost <usd>', 'so many more dollars', amount)
    .option('--tool-calls <n>', 'so many more calls', wholeNumber)
    .option('--steps <n>', 'so many more model calls', wholeNumber)
    .option('--resume', 'and let a turn go on that ended because nothing was left')
    .option('--by <name>', 'who gives it, for the journal')
  registerThreadCommand<Options>(runCommand, command, {
    async send(thread, { tokens, cost, toolCalls, steps, resume, by }) {
      await thread.grant(
        defined({ tokens, costUsd: cost, toolCalls, steps }),
        defined({ resume: resume || undefined, by }),
      )
      return true
    },
    done: 'granted',
    unchanged: 'nothing was granted',
  })
}

function amount(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < 0) throw new InvalidArgumentError('a number, 0 or more')
  return value
}

function wholeNumber(text: string): number {
  const value = amount(text)
  if (!Number.isInteger(value)) throw new InvalidArgumentError('a whole number')
  return value
}
