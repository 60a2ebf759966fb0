/**
 * The children that work for a turn on a terminal: one line for all of them, then a line each for those that matter,
 * with what each is about and does now.
 *
 * - A child has a line while a turn of it is open, up to `mostRows`; of more, those that wait for someone come
 *   first, equal waits as one line, then those that take longest. How many are not shown is said.
 * - Among the children of one parent those that someone must let go on stand first, with all above them, so that
 *   they are not cut off.
 */
import type { RemoteProjection, RemoteThreadChange } from '../../client.js'
import type { DurableEvent, RunCall } from '../../index.js'
import { counted, duration, oneLine, preview } from '../format.js'
import { groupBy } from '../group-by.js'
import type { CliOutput } from '../output.js'
import { waitsFor } from './call-line.js'
import { childName } from './calls.js'
import { createChildren } from './children.js'
import type { Children } from './children.js'
import { progressIn } from './progress.js'
import { swarmLine } from './swarm-line.js'
import { modelWaitLine, waitAfter } from './waiting-for.js'
import type { ShownModelWait } from './waiting-for.js'

const mostRows = 8

/** A child with an open turn. */
interface Row {
  readonly thread: string
  readonly parent: string
  readonly depth: number
  readonly startedAt: number
  readonly path: readonly string[]
  readonly paused: boolean
  /** Its calls that are not answered. */
  readonly open: readonly RunCall[]
  /** The one that someone must let go on. */
  readonly held: RunCall | undefined
}

function rowsBelow(top: string, threads: RemoteThreadChange['threads']): readonly Row[] {
  return [...threads.values()].flatMap((value) => (value.thread === top || !value.turn ? [] : [rowOf(top, value)]))
}

function rowOf(top: string, { thread, path, status, turn, calls }: RemoteProjection): Row {
  const open = calls.filter(({ outcome }) => !outcome)
  return {
    thread,
    path,
    parent: path.at(-2) ?? '',
    depth: path.length - path.indexOf(top) - 2,
    startedAt: turn?.startedAt ?? 0,
    paused: status === 'paused',
    open,
    held: open.find(({ waitsFor: why }) => why !== undefined && why !== 'children'),
  }
}

/** Nothing goes on there until someone acts. */
function standsStill({ paused, held }: Row): boolean {
  return paused || held !== undefined
}

/** What a row waits for, in words. */
function waitOf({ paused, held }: Row): string {
  if (paused || !held?.waitsFor) return 'paused'
  return waitsFor(held.waitsFor, held.missing)
}

/** What lines are made of. */
interface Picture {
  readonly paint: CliOutput['paint']
  readonly children: Children
  readonly now: number
  readonly turning: string
  /** By thread, by call: the last that the body told of itself. */
  readonly progress: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** By thread. */
  readonly modelWaits: ReadonlyMap<string, ShownModelWait>
}

function lineOf(picture: Picture, row: Row): string {
  const { paint, children, now, turning } = picture
  const topic = oneLine(children.topic(row.thread) ?? '', 40)
  const name = `${children.label(row.path)}${topic === '' ? '' : ` ${paint('dim', `“${topic}”`)}`}`
  if (standsStill(row)) {
    const tool = row.paused || !row.held ? '' : `${toolOf(row.held)} `
    return `${paint('yellow', '‖')} ${name} ${tool}${paint('yellow', waitOf(row))}`
  }
  return `${paint('cyan', turning)} ${name} ${paint('dim', duration(now - row.startedAt))} ${activityOf(picture, row)}`
}

function activityOf({ paint, children, progress, modelWaits }: Picture, { thread, open }: Row): string {
  const own = open.findLast(({ child }) => !child)
  if (own) return `${own.tool} ${paint('dim', progress.get(thread)?.get(own.id) ?? preview(own.args, 200))}`
  const working = children.working(thread).length
  if (working > 0 && open.length > 0) return paint('dim', `waits for ${counted(working, 'child', 'children')}`)
  const wait = modelWaits.get(thread)
  return paint('dim', wait ? `waits for ${modelWaitLine(wait)}` : 'thinking')
}

function toolOf({ tool, child }: RunCall): string {
  return child ? childName(child) : tool
}

/** Children by parent: before the others those that stand still, and those with such children. */
function byParent(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  const known = new Map(rows.map((row) => [row.thread, row]))
  const first = new Set<string>()
  for (const row of rows)
    if (standsStill(row))
      for (let each: Row | undefined = row; each; each = known.get(each.parent)) first.add(each.thread)
  const ordered = [
    ...rows.filter(({ thread }) => first.has(thread)),
    ...rows.filter(({ thread }) => !first.has(thread)),
  ]
  return groupBy(ordered, ({ parent }) => parent)
}

/** A child, then those below it. */
function linesBelow(picture: Picture, parent: string, rows: ReturnType<typeof byParent>): readonly string[] {
  return (rows.get(parent) ?? []).flatMap((row) => [
    `${'  '.repeat(row.depth)}${lineOf(picture, row)}`,
    ...linesBelow(picture, row.thread, rows),
  ])
}

function fewLines(picture: Picture, rows: readonly Row[]): readonly string[] {
  const { paint, children } = picture
  const alike = groupBy(rows.filter(standsStill), (row) =>
    row.paused || !row.held ? 'paused' : `${toolOf(row.held)} ${waitOf(row)}`,
  )
  const waiting = [...alike].slice(0, mostRows - 2).map(([what, same]) => {
    const [first] = same
    return same.length === 1 && first
      ? lineOf(picture, first)
      : `${paint('yellow', '‖')} ${same.length} × ${paint('yellow', what)}`
  })
  // A parent takes as long as its children: those are shown.
  const working = rows.filter((row) => !standsStill(row) && children.working(row.thread).length === 0)
  const slowest = working.toSorted((one, other) => one.startedAt - other.startedAt).slice(0, mostRows - waiting.length)
  const rest = working.length - slowest.length
  return [
    ...waiting,
    ...slowest.map((row) => lineOf(picture, row)),
    ...(rest > 0 ? [paint('dim', `  … and ${rest} more at work`)] : []),
  ]
}

export function createChildRows(paint: CliOutput['paint'], top: string) {
  const children = createChildren()
  const progress = new Map<string, ReadonlyMap<string, string>>()
  const modelWaits = new Map<string, ShownModelWait>()
  const totals = createTotals()
  let threads: RemoteThreadChange['threads'] = new Map()
  return {
    take(change: RemoteThreadChange): void {
      const { event, thread, result } = change
      ;({ threads } = change)
      children.take(change)
      if (!event) return
      const latest = progressIn(event)
      if (latest) progress.set(thread, new Map(progress.get(thread)).set(latest.call, preview(latest.text, 60)))
      if (result) progress.delete(thread)
      const wait = waitAfter(event, modelWaits.get(thread))
      if (wait) modelWaits.set(thread, wait)
      else modelWaits.delete(thread)
      if ('seq' in event) totals.take(event)
    },
    lines(turning: string): readonly string[] {
      const rows = rowsBelow(top, threads)
      const { startedAt, now, costUsd, maxParallel } = totals.sum()
      const lined = [top, ...rows.map(({ thread }) => thread)].find((thread) => children.inLine(thread).length > 0)
      const swarm = swarmLine({
        ...countsOf(children),
        atOnce: maxParallel.get(lined ?? ''),
        waiting: rows.filter(standsStill).length,
        elapsedMs: now - startedAt,
        costUsd,
      })
      const picture: Picture = { paint, children, now, turning, progress, modelWaits }
      return [
        ...(swarm === undefined ? [] : [swarm]),
        ...(rows.length > mostRows ? fewLines(picture, rows) : linesBelow(picture, top, byParent(rows))),
      ]
    },
  }
}

function countsOf(children: Children) {
  const counts = { done: 0, failed: 0, working: 0, inLine: 0 }
  for (const { status, failure } of children.all()) {
    if (status === 'in line') counts.inLine++
    else if (status === 'working') counts.working++
    else if (failure) counts.failed++
    else counts.done++
  }
  return counts
}

/** What is added up over all threads. */
function createTotals() {
  let [startedAt, now, costUsd] = [0, 0, 0]
  /** By parent: how many of its children may be at work at once. */
  const maxParallel = new Map<string, number>()
  return {
    sum: () => ({ startedAt, now, costUsd, maxParallel }),
    take(event: DurableEvent): void {
      startedAt ||= event.at
      now = Math.max(now, event.at)
      if (event.type === 'model.replied') costUsd += event.usage.costUsd
      if (event.type !== 'model.replied' && event.type !== 'calls.made') return
      const call = event.calls.find(({ child }) => child)
      if (call?.child) maxParallel.set(event.thread, call.child.maxParallel)
    },
  }
}
