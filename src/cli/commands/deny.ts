/**
 * `skein deny`: what someone was asked for is declined, an approval, an answer or values; the model is told, with the
 * comment.
 */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import { decidable, decide } from './decide.js'
import type { DecideOptions } from './decide.js'
import type { RunCommand } from '../run-command.js'

interface Options extends DecideOptions {
  readonly comment?: string
}

export function register(command: Command, perform: RunCommand): void {
  decidable(command)
    .option('--comment <text>', 'why; the model reads it')
    .action((id: string, { wait, ...said }: Options) =>
      perform(command, (around) =>
        decide(around, {
          id,
          ...defined({ wait: wait || undefined }),
          done: 'denied',
          say: (inbox) => inbox.reject(id, said),
        }),
      ),
    )
}
