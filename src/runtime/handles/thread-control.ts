/**
 * The commands that end, pause and resume the turns of a thread. Each is durable when its promise resolves.
 */
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import { checkOptions } from '../../core/options.js'
import { cancelSchema, pauseSchema, reasonSchema, treeSchema } from './options.js'
import type { ReasonOption, TreeOption } from './options.js'
import type { SendToThread } from './send-command.js'

export interface ThreadControl {
  /** Ends the running turn; with `run`, only where it is the turn of that run. False when none was running. */
  cancel(options?: ReasonOption & { readonly run?: string }): Promise<boolean>
  /**
   * Starts nothing more; what runs may land. With `tree`, nor does any thread below it. False when it was paused
   * already.
   */
  pause(options?: ReasonOption & TreeOption): Promise<boolean>
  /**
   * Goes on after `pause`, or with a turn that failed or whose budget was spent and raised. With `tree`, all below it
   * that is paused goes on. False when there was nothing to resume.
   */
  resume(options?: TreeOption): Promise<boolean>
  /** Ends the thread for good. False when it had ended already. */
  terminate(options?: ReasonOption): Promise<boolean>
}

export function createThreadControl(send: SendToThread): ThreadControl {
  return {
    async cancel(options = {}) {
      const { reason, run } = checkOptions(cancelSchema(), options, 'cancel')
      const messages = run === undefined ? undefined : [run]
      return hasChanged(send({ kind: 'cancel', reason, ...defined({ messages }) }))
    },
    async pause(options = {}) {
      const { reason, tree } = checkOptions(pauseSchema(), options, 'pause')
      return hasChanged(send({ kind: 'pause', reason, ...defined({ tree: tree || undefined }) }))
    },
    async resume(options = {}) {
      const { tree } = checkOptions(treeSchema(), options, 'resume')
      return hasChanged(send({ kind: 'resume', ...defined({ tree: tree || undefined }) }))
    },
    async terminate(options = {}) {
      const { reason } = checkOptions(reasonSchema(), options, 'terminate')
      return hasChanged(send({ kind: 'terminate', reason }))
    },
  }
}

/** A command that found nothing to do is no error for the caller. */
async function hasChanged(answer: Promise<unknown>): Promise<boolean> {
  try {
    await answer
    return true
  } catch (thrown) {
    if (SkeinError.is(thrown, 'COMMAND_REFUSED')) return false
    throw thrown
  }
}
