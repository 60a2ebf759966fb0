/** A thread, and where in its past: `t1`, `t1@3`, `t1@turn:m2`. */
import { defined } from '../../../core/defined.js'
import { parsePoint, pointForms } from '../../../core/point.js'
import type { Point, ThreadAt } from '../../../index.js'

export const placeHelp = `id of the thread; with @ a point of its past: ${pointForms}`

export async function placeOf(text: string): Promise<Exclude<ThreadAt, string>> {
  const cut = text.indexOf('@')
  if (text === '' || cut === 0) throw await noId(text)
  if (cut < 0) return { thread: text }
  return { thread: text.slice(0, cut), ...defined({ at: await pointOf(text.slice(cut + 1), text) }) }
}

async function noId(typed: string): Promise<Error> {
  const { SkeinError } = await import('../../../index.js')
  return new SkeinError('BAD_OPTION', `${JSON.stringify(typed)}: the id of the thread is missing (skein ps lists them)`)
}

/** `typed`: what stands on the command line. */
export async function pointOf(text: string, typed = text): Promise<Point> {
  const point = parsePoint(text)
  if (point) return point
  const { SkeinError } = await import('../../../index.js')
  throw new SkeinError(
    'BAD_OPTION',
    `${JSON.stringify(typed)} names no point of a thread; a point is ${pointForms} (skein timeline lists them)`,
  )
}
