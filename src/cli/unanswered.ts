/** Commands that nobody answers because no host serves the store: they are kept, which is no failure. */
import { exitCode } from './exit.js'
import type { ExitCode } from './exit.js'
import type { CliOutput } from './output.js'

export const unansweredNote = 'kept; will be carried out when a host opens the store'

/** Whether the command was answered. Throws what it was refused with. */
export async function markUnanswered(answer: Promise<unknown>): Promise<'accepted' | 'kept'> {
  const { SkeinError } = await import('../index.js')
  try {
    await answer
    return 'accepted'
  } catch (thrown) {
    // A host that is there and silent is another matter: that is told as the failure it is.
    if (SkeinError.is(thrown, 'COMMAND_UNANSWERED') && thrown.data?.['hosted'] === false) return 'kept'
    throw thrown
  }
}

/** Whoever wanted to wait for the turn as well did not get that. */
export function tellUnanswered(out: CliOutput, value: object, wait = false): ExitCode {
  if (out.mode === 'json') out.json(value)
  else out.note(unansweredNote)
  if (!wait) return exitCode.ok
  out.note('there is no turn to wait for while no host serves the store')
  return exitCode.failed
}
