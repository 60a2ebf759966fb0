/**
 * Exit codes (contract C1), and which stop reason, status or failure leads to which. Scripts branch on them, so a turn
 * that stopped early (too many steps, a deadline) exits with a failure although it ended cleanly: its work is not
 * complete.
 */
import type { FailureGroup, StopReason } from '../index.js'

export const exitCode = { ok: 0, failed: 1, cancelled: 2, waiting: 3, badInput: 4, SIGINT: 130, SIGTERM: 143 } as const

export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

const byStop: Readonly<Record<StopReason, ExitCode>> = {
  completed: exitCode.ok,
  empty_reply: exitCode.ok,
  session_stopped: exitCode.ok,
  // Where its author wanted it to stop.
  stop_when: exitCode.ok,
  reply_cut: exitCode.failed,
  reply_filtered: exitCode.failed,
  reply_paused: exitCode.failed,
  max_steps: exitCode.failed,
  max_tool_calls: exitCode.failed,
  max_tool_rounds: exitCode.failed,
  repetition: exitCode.failed,
  hook_blocked: exitCode.failed,
  max_tokens: exitCode.failed,
  max_cost: exitCode.failed,
  budget_spent: exitCode.failed,
  max_session_turns: exitCode.failed,
  session_failed: exitCode.failed,
  deadline: exitCode.failed,
  failed: exitCode.failed,
  rewound: exitCode.failed,
  cancelled: exitCode.cancelled,
  terminated: exitCode.cancelled,
}

export function exitOfStop(reason: StopReason): ExitCode {
  return byStop[reason]
}

const standstills = ['paused', 'awaiting_approval', 'awaiting_human', 'awaiting_variables'] as const

/** A status in which a thread stands still until someone acts. */
export type Standstill = (typeof standstills)[number]

export function isStandstill(status: string): status is Standstill {
  return standstills.some((known) => known === status)
}

/** The exit code for a thread that has nothing to do. */
export function exitOfStatus(status: string): ExitCode {
  // `waiting` is none of these: children come back by themselves.
  if (isStandstill(status)) return exitCode.waiting
  if (status === 'failed') return exitCode.failed
  return status === 'terminated' ? exitCode.cancelled : exitCode.ok
}

/** 4 when the user must change something; that includes failures that otherwise a model would read and mend. */
export function exitOfFailure(group: FailureGroup): ExitCode {
  return group === 'caller' || group === 'model' ? exitCode.badInput : exitCode.failed
}
