/**
 * A thread's position: the machine's value as plain text, and how it moves: by the table compiled from the machine.
 * Replay calls it directly; the live thread is an actor around it (live-thread.ts).
 *
 * - The table moves exactly as the machine itself does (test/actors/thread/agreement.test.ts). Interpreting the
 *   machine costs 7–17 µs per step, the table 0.2, the actor around it 0.5.
 * - The types here are part of public ones, so they name no package.
 */
import type { HoldReason } from '../../src/core/records/record.js'
import type { Signal } from './signal.js'
import { compileMachine } from './machine-table.js'
import type { Transition } from './machine-table.js'

export type Work = 'fresh' | 'idle' | 'thinking' | 'acting' | `waiting.${HoldReason}` | 'failed' | 'done' | 'terminated'

export interface Position {
  readonly work: Work
  readonly gate: 'open' | 'paused'
}

/** Moves a position by a signal. */
export type Move = (position: Position, signal: Signal) => Position

const positions = new Map<string, Position>()

/** One object per position, so that positions can be compared by identity. */
export function positionAt(gate: Position['gate'], work: Work): Position {
  const name = `${gate}.${work}`
  const known = positions.get(name) ?? { gate, work }
  positions.set(name, known)
  return known
}

function positionOf(name: string): Position {
  const dot = name.indexOf('.')
  return positionAt(name.slice(0, dot) as Position['gate'], name.slice(dot + 1) as Work)
}

interface Target {
  readonly allows: Transition['allows']
  readonly to: Position
}

/** The table with positions for names: a move makes no text. */
const targets = new Map<Position, ReadonlyMap<string, readonly Target[]>>()
for (const [name, moves] of compileMachine()) {
  const from = positionOf(name)
  const toTarget = ({ allows, target }: Transition): Target => ({
    allows,
    to: target === undefined ? from : positionOf(target),
  })
  targets.set(from, new Map([...moves].map(([type, options]) => [type, options.map(toTarget)])))
}

export const moveByTable: Move = (position, signal) => {
  const found = targets.get(position)?.get(signal.type)
  if (found) for (const { allows, to } of found) if (allows(signal)) return to
  return position
}
