/** `skein approve`: a call that waits for approval runs, with other args where they are given. */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import { decidable, decide } from './decide.js'
import type { DecideOptions } from './decide.js'
import type { RunCommand } from '../run-command.js'

interface Options extends DecideOptions {
  readonly args?: string
  readonly comment?: string
}

export function register(command: Command, perform: RunCommand): void {
  decidable(command)
    .option('--args <json>', 'run it with these args in place of the ones it was asked for with')
    .option('--comment <text>', 'why, for the journal')
    .action((id: string, { args, wait, ...said }: Options) =>
      perform(command, async (around) => {
        const edited = args === undefined ? {} : { args: await jsonOf(args) }
        return decide(around, {
          id,
          ...defined({ wait: wait || undefined }),
          why: 'approval',
          shows: edited,
          done: 'approved',
          say: (inbox) => inbox.approve(id, { ...said, ...edited }),
        })
      }),
    )
}

async function jsonOf(given: string): Promise<unknown> {
  try {
    return JSON.parse(given)
  } catch (thrown) {
    const { SkeinError } = await import('../../index.js')
    throw new SkeinError(
      'BAD_OPTION',
      `--args is not JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
    )
  }
}
