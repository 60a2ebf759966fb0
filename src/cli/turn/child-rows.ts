/**
 * The children that work for a turn on a terminal: one line for all of them, then a line each for those that matter,
 * with what each is about and does now.
 *
 * - A child has a line while a turn of it is open, up to `mostRows`; of more, those that wait for someone come
 *   first, equal waits as one line, then those that take longest. How many are not shown is said.
 * - Among the children of one parent those that someone must let go on stand first, with all above them, so that
 *   they are not cut off.
 */
import { defined } from '../../core/defined.js'
import type { SkeinEvent } from '../../index.js'
import { waitsFor } from './call-line.js'
import { createChildStates, heldIn, standsStill } from './child-state.js'
import type { ChildState } from './child-state.js'
import { createChildren } from './children.js'
import type { Children } from './children.js'
import { counted, duration, preview } from '../format.js'
import { modelWaitLine } from './waiting-for.js'
import type { CliOutput } from '../output.js'
import { createSwarmLine } from './swarm-line.js'

const mostRows = 8

type States = ReadonlyMap<string, ChildState>

/** Children by parent, in the order of CR2. */
function ordered(states: States): ReadonlyMap<string, readonly string[]> {
  const waiting = new Set<string>()
  for (const [thread, state] of states)
    if (standsStill(state))
      for (let each: string | undefined = thread; each !== undefined; each = states.get(each)?.parent) waiting.add(each)
  const below = new Map<string, string[]>()
  const add = (parent: string, thread: string): void => {
    const list = below.get(parent)
    if (list) list.push(thread)
    else below.set(parent, [thread])
  }
  for (const first of [true, false])
    for (const [thread, { parent }] of states) if (waiting.has(thread) === first) add(parent, thread)
  return below
}

/** What a line is made of. */
interface Picture {
  readonly paint: CliOutput['paint']
  readonly family: Children
  readonly states: States
  readonly now: number
  readonly turning: string
}

function lineOf({ paint, family, now, turning }: Picture, thread: string, state: ChildState): string {
  const { open, paused, waits, startedAt, topic } = state
  const name = `${family.label(thread)}${topic === '' ? '' : ` ${paint('dim', `“${topic}”`)}`}`
  const asks = heldIn(state)
  if (paused) return `${paint('yellow', '‖')} ${name} ${paint('yellow', 'paused')}`
  if (asks?.held)
    return `${paint('yellow', '‖')} ${name} ${asks.call.tool} ${paint('yellow', waitsFor(asks.held, asks.missing))}`
  const begin = `${paint('cyan', turning)} ${name} ${paint('dim', duration(now - startedAt))}`
  const all = [...open.values()]
  const own = all.findLast(({ call }) => !call.child)
  if (own) return `${begin} ${own.call.tool} ${paint('dim', own.said ?? preview(own.call.args, 200))}`
  const working = family.working(thread).length
  return `${begin} ${paint('dim', working > 0 && all.length > 0 ? `waits for ${counted(working, 'child', 'children')}` : waits ? `waits for ${modelWaitLine(waits)}` : 'thinking')}`
}

/** A child, then those below it. */
function linesBelow(picture: Picture, parent: string, below: ReturnType<typeof ordered>): readonly string[] {
  return (below.get(parent) ?? []).flatMap((thread) => {
    const state = picture.states.get(thread)
    return state
      ? [`${'  '.repeat(state.depth)}${lineOf(picture, thread, state)}`, ...linesBelow(picture, thread, below)]
      : []
  })
}

function fewLines(picture: Picture): readonly string[] {
  const { paint, family, states } = picture
  const alike = new Map<string, [string, ChildState][]>()
  for (const [thread, state] of states) {
    if (!standsStill(state)) continue
    const asks = heldIn(state)
    const what = asks?.held ? `${asks.call.tool} ${waitsFor(asks.held, asks.missing)}` : 'paused'
    alike.set(what, [...(alike.get(what) ?? []), [thread, state]])
  }
  const lines = [...alike].slice(0, mostRows - 2).map(([what, same]) => {
    const [first] = same
    return same.length === 1 && first
      ? lineOf(picture, ...first)
      : `${paint('yellow', '‖')} ${same.length} × ${paint('yellow', what)}`
  })
  // A parent takes as long as its children: those are told.
  const working = [...states].filter(([thread, state]) => !standsStill(state) && family.working(thread).length === 0)
  const slowest = working
    .toSorted(([, one], [, other]) => one.startedAt - other.startedAt)
    .slice(0, mostRows - lines.length)
  const rest = working.length - slowest.length
  return [
    ...lines,
    ...slowest.map(([thread, state]) => lineOf(picture, thread, state)),
    ...(rest > 0 ? [paint('dim', `  … and ${rest} more at work`)] : []),
  ]
}

export function createChildRows(paint: CliOutput['paint'], top: string) {
  const family = createChildren()
  const swarm = createSwarmLine(top)
  const { states, take } = createChildStates(top)
  return {
    take(event: SkeinEvent): void {
      family.take(event)
      swarm.take(event)
      take(event)
    },
    /** Some of its own are still to be called. */
    inLine: (): boolean => family.inLine(top).length > 0,
    lines(turning: string): readonly string[] {
      const calls = [top, ...states.keys()].flatMap((thread) => family.inLine(thread))
      const atOnce = calls[0]?.maxParallel
      const sum = swarm.line({
        inLine: calls.length,
        ...defined({ atOnce }),
        waiting: [...states.values()].filter(standsStill).length,
      })
      const picture: Picture = { paint, family, states, now: swarm.now(), turning }
      return [
        ...(sum === undefined ? [] : [sum]),
        ...(states.size > mostRows ? fewLines(picture) : linesBelow(picture, top, ordered(states))),
      ]
    },
  }
}
