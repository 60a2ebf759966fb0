/**
 * The children that work for a turn, a line each: what each is called and what it does now. Grandchildren stand below their
 * parents.
 *
 * CR1 A child has a line while a turn of it is open; whether more wait in line is said first, where it is not cut off.
 * CR2 Among the children of one parent those that someone must let go on stand first, with all above them, for the same reason.
 */
import type { SkeinEvent } from '../index.js'
import { waitsFor } from './call-line.js'
import { createCalls } from './calls.js'
import type { HoldReason, ShownCall } from './calls.js'
import { createFamily } from './family.js'
import { counted, preview } from './format.js'
import { modelWaitLine, waitAfter } from './model-waits.js'
import type { ModelWait } from './model-waits.js'
import type { Output } from './output.js'

interface Open {
  readonly call: ShownCall
  readonly held?: HoldReason
}

interface Row {
  readonly depth: number
  readonly parent: string
  readonly calls: ReturnType<typeof createCalls>
  readonly open: Map<string, Open>
  paused?: true
  waits: ModelWait | undefined
}

/** Nothing goes on there until someone acts. */
function stands({ paused, open }: Row): boolean {
  return paused === true || [...open.values()].some(({ held }) => held !== undefined && held !== 'children')
}

/** Children by parent, in the order of CR2. */
function ordered(rows: ReadonlyMap<string, Row>): ReadonlyMap<string, readonly string[]> {
  const waiting = new Set<string>()
  for (const [thread, row] of rows) if (stands(row)) for (let each: string | undefined = thread; each !== undefined; each = rows.get(each)?.parent) waiting.add(each)
  const below = new Map<string, string[]>()
  const add = (parent: string, thread: string): void => {
    const list = below.get(parent)
    if (list) list.push(thread)
    else below.set(parent, [thread])
  }
  for (const first of [true, false]) for (const [thread, { parent }] of rows) if (waiting.has(thread) === first) add(parent, thread)
  return below
}

export function createChildRows(paint: Output['paint'], top: string) {
  const family = createFamily()
  const rows = new Map<string, Row>()

  function follow(event: SkeinEvent): void {
    const { thread, path, type } = event
    if (type === 'turn.started') rows.set(thread, { depth: path.length - path.indexOf(top) - 2, parent: path.at(-2) ?? '', calls: createCalls(), open: new Map(), waits: undefined })
    if (type === 'turn.ended' || type === 'thread.ended' || type === 'thread.terminated') rows.delete(thread)
    const row = rows.get(thread)
    if (!row) return
    if (type === 'thread.paused') row.paused = true
    if (type === 'thread.resumed') delete row.paused
    row.waits = waitAfter(event, row.waits)
    for (const news of row.calls.take(event)) {
      if (news.state === 'held') row.open.set(news.call.id, { call: news.call, held: news.why })
      else if (news.state === 'answered' || news.state === 'denied') row.open.delete(news.call.id)
      else row.open.set(news.call.id, { call: news.call })
    }
  }

  function lineOf(thread: string, { depth, open, paused, waits }: Row, turning: string): string {
    const name = `${'  '.repeat(depth)}${family.label(thread)}`
    const all = [...open.values()]
    const asks = all.find(({ held }) => held !== undefined)
    if (paused) return `${paint('yellow', '‖')} ${name} ${paint('yellow', 'paused')}`
    if (asks?.held) return `${paint('yellow', '‖')} ${name} ${asks.call.tool} ${paint('yellow', waitsFor(asks.held))}`
    const own = all.findLast(({ call }) => !call.child)
    if (own) return `${paint('cyan', turning)} ${name} ${own.call.tool} ${paint('dim', preview(own.call.args, 200))}`
    const working = family.working(thread).length
    return `${paint('cyan', turning)} ${name} ${paint('dim', working > 0 && all.length > 0 ? `waits for ${counted(working, 'child', 'children')}` : waits ? `waits for ${modelWaitLine(waits)}` : 'thinking')}`
  }

  /** A child, then those below it. */
  function linesBelow(parent: string, below: ReturnType<typeof ordered>, turning: string): readonly string[] {
    return (below.get(parent) ?? []).flatMap((thread) => {
      const row = rows.get(thread)
      return row ? [lineOf(thread, row, turning), ...linesBelow(thread, below, turning)] : []
    })
  }

  return {
    take(event: SkeinEvent): void {
      family.take(event)
      if (event.thread !== top) follow(event)
    },
    /** Some of its own are still to be called. */
    inLine: (): boolean => family.inLine(top).length > 0,
    lines(turning: string): readonly string[] {
      const waiting = [top, ...rows.keys()].reduce((sum, thread) => sum + family.inLine(thread).length, 0)
      return [...(waiting > 0 ? [paint('dim', `… ${counted(waiting, 'child', 'children')} in line`)] : []), ...linesBelow(top, ordered(rows), turning)]
    },
  }
}
