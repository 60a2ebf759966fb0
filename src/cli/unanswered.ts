/** Commands that no host answers because none serves the store: they are kept in the mailbox, which is no failure. */
import { exitCode } from './exit.js'
import type { ExitCode } from './exit.js'
import type { CliOutput } from './output.js'

export const unansweredNote = 'kept; will be carried out when a host opens the store'

/** Whether a host accepted the command, or it is kept for one. Throws the refusal of a host. */
export async function markUnanswered(answer: Promise<unknown>): Promise<'accepted' | 'kept'> {
  const { SkeinError } = await import('../index.js')
  try {
    await answer
    return 'accepted'
  } catch (thrown) {
    // A host that is there and does not answer is a failure.
    if (SkeinError.is(thrown, 'COMMAND_UNANSWERED') && thrown.data?.['hosted'] === false) return 'kept'
    throw thrown
  }
}

/** With `wait` the command fails: there is no turn to wait for. */
export function tellUnanswered(out: CliOutput, value: object, wait = false): ExitCode {
  if (out.mode === 'json') out.json(value)
  else out.note(unansweredNote)
  if (!wait) return exitCode.ok
  out.note('there is no turn to wait for while no host serves the store; it need not be sent again')
  return exitCode.failed
}
