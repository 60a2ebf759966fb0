/** What a thread does, in one word: the names of its statuses, and nothing else. */

export const threadStatuses = [
  'created',
  'idle',
  'thinking',
  'acting',
  'waiting',
  'awaiting_approval',
  'awaiting_human',
  'awaiting_variables',
  'paused',
  'failed',
  'done',
  'terminated',
] as const

export type Status = (typeof threadStatuses)[number]
