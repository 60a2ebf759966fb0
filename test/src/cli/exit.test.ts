/** C1: which end of a turn leads to which exit code. */
import { expect, it } from 'vitest'
import { exitCode, exitOfStop } from '../../../src/cli/exit.js'

it('C1: a turn that ends as its author wanted is ok; one that a limit cut is a failure', () => {
  for (const reason of ['completed', 'empty_reply', 'session_stopped', 'stop_when'] as const)
    expect([reason, exitOfStop(reason)]).toEqual([reason, exitCode.ok])
  for (const reason of ['max_steps', 'max_tool_rounds', 'repetition', 'hook_blocked', 'budget_spent'] as const)
    expect([reason, exitOfStop(reason)]).toEqual([reason, exitCode.failed])
  expect(exitOfStop('cancelled')).toBe(exitCode.cancelled)
})
