/**
 * `skein answer`: the output of a call that waits for a person. What reads as JSON is JSON, everything else is text.
 */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import { decidable, decide } from './decide.js'
import type { DecideOptions } from './decide.js'
import { jsonOrText } from '../json-text.js'
import { piped } from '../stdin.js'
import type { RunCommand } from '../run-command.js'

interface Options extends DecideOptions {
  readonly text?: boolean
}

export function register(command: Command, perform: RunCommand): void {
  decidable(command)
    .argument('<output>', 'JSON, or text where it is none; - reads stdin')
    .option('--text', 'text, also where it could be read as JSON')
    .action((id: string, given: string, { text, wait, ...said }: Options) =>
      perform(command, async (around) => {
        const written = given === '-' ? await piped(around.shell) : given
        const output = text ? written : jsonOrText(written)
        return decide(around, {
          id,
          ...defined({ wait: wait || undefined }),
          why: 'person',
          done: 'answered',
          say: (inbox) => inbox.answer(id, output, said),
        })
      }),
    )
}
