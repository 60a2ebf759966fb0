/**
 * What bodies did, as the world saw it: a file to which every body adds a line before it acts. Owns the reading of it.
 *
 * - An effect that may be repeated is known by its key: every key of the quiet run is there, and no other.
 * - An effect that may not be repeated happened once, or its thread was told that it is not known (then it happened
 *   once at most).
 * - Work whose result is in the journal is not begun again. (A process that was stopped between its decision and
 *   the act goes on with the act when it is continued, whatever the journal says by then; lines of that moment are
 *   not counted.)
 */
import { readFile, stat } from 'node:fs/promises'
import { z } from 'zod'

const lineSchema = z.tuple([z.number(), z.number(), z.string(), z.string(), z.string(), z.string()])

export interface Line {
  readonly pid: number
  readonly at: number
  readonly tool: string
  readonly thread: string
  readonly key: string
  readonly of: string
}

export async function readLedger(path: string): Promise<readonly Line[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [pid, at, tool, thread, key, of] = lineSchema.parse(JSON.parse(line))
      return { pid, at, tool, thread, key, of }
    })
}

export async function ledgerBytes(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}

/** A call that is answered: when its outcome was recorded, and whether that is "not known". */
export interface Answered {
  readonly at: number
  readonly unknown: boolean
}

export const answeredKey = ({ thread, tool, of }: Pick<Line, 'thread' | 'tool' | 'of'>): string =>
  `${thread} ${tool} ${of}`

/** A process was stopped until `at`. */
export interface Continued {
  readonly pid: number
  readonly at: number
}

export interface Told {
  readonly quiet: readonly Line[]
  readonly chaos: readonly Line[]
  readonly answered: ReadonlyMap<string, Answered>
  readonly continued: readonly Continued[]
}

/** A stopped process has come to its senses by then. */
const wakingMs = 1_000

/** What is wrong with it; nothing, if all is well. */
export function judgeLedger({ quiet, chaos, answered, continued }: Told): string[] {
  const wrong: string[] = []
  const wanted = new Set(quiet.map(({ key }) => key))
  const done = new Map<string, number>()
  for (const line of chaos) {
    done.set(line.key, (done.get(line.key) ?? 0) + 1)
    if (!wanted.has(line.key)) wrong.push(`${line.tool} of ${line.of} in ${line.thread} is no effect of the quiet run`)
    const answer = answered.get(answeredKey(line))
    const late =
      answer !== undefined &&
      line.at > answer.at &&
      !continued.some(({ pid, at }) => pid === line.pid && line.at >= at && line.at < at + wakingMs)
    if (late)
      wrong.push(
        `${line.tool} of ${line.of} was begun by ${line.pid} at ${line.at}, after its result was recorded at ` +
          `${answer.at}`,
      )
  }
  for (const line of quiet) {
    const times = done.get(line.key) ?? 0
    const unknown = answered.get(answeredKey(line))?.unknown === true
    if (times === 0 && !unknown) wrong.push(`${line.tool} of ${line.of} was lost`)
    if (line.tool === 'pay' && times > 1) wrong.push(`${line.tool} of ${line.of} happened ${times} times`)
  }
  return wrong
}
