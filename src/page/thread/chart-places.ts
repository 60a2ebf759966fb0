/** Where the states of a thread are drawn, and which ways between them. A test compares it with the machine. */

export interface ChartBox {
  readonly x: number
  readonly y: number
  readonly label: string
}

export const chartBoxSize = [112, 30] as const

export const chartStates: Readonly<Record<string, ChartBox>> = {
  fresh: { x: 10, y: 74, label: 'fresh' },
  idle: { x: 150, y: 74, label: 'idle' },
  thinking: { x: 300, y: 24, label: 'thinking' },
  acting: { x: 450, y: 24, label: 'acting' },
  'waiting.approval': { x: 600, y: 6, label: 'waits: approval' },
  'waiting.person': { x: 600, y: 44, label: 'waits: a person' },
  'waiting.variables': { x: 600, y: 82, label: 'waits: variables' },
  'waiting.children': { x: 600, y: 120, label: 'waits: children' },
  failed: { x: 300, y: 74, label: 'failed' },
  done: { x: 150, y: 130, label: 'done' },
  terminated: { x: 300, y: 130, label: 'terminated' },
}

export const chartEdges: readonly (readonly [string, string])[] = [
  ['fresh', 'idle'],
  ['idle', 'thinking'],
  ['thinking', 'acting'],
  ['acting', 'thinking'],
  ['acting', 'waiting.approval'],
  ['acting', 'waiting.person'],
  ['acting', 'waiting.variables'],
  ['acting', 'waiting.children'],
  ['thinking', 'idle'],
  ['thinking', 'failed'],
  ['failed', 'thinking'],
  ['idle', 'done'],
  ['done', 'terminated'],
  ['idle', 'terminated'],
]
