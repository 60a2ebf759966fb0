/**
 * A point in the past of a thread, and how it is written in an address or on a command line: `3` or `step:3`,
 * `turn:<run>`, `message:<id>`, `seq:12`, `cursor:41.12`. Runs in browsers.
 */

/** A place in the past of a thread. */
export type Point =
  /** The results of this step are in, and the model was not asked again; 0: before the first. */
  | { readonly step: number }
  /** Before the message of this turn was received; where that waited for another turn, before it was read. */
  | { readonly turn: string }
  /** Before this message was received. */
  | { readonly message: string }
  /** After this record. */
  | { readonly seq: number }
  /** After the event with this cursor. */
  | { readonly cursor: string }

export const pointForms = 'a step as 3, or one of turn:<run>, message:<id>, seq:<number> and cursor:<cursor>'

/** What is none stays as it is, for whoever checks it. */
export function pointText(point: Point): string {
  const [name = '', value = ''] = Object.entries(point)[0] ?? []
  return `${name}:${String(value)}`
}

/** Undefined: it is no point. */
export function parsePoint(text: string): Point | undefined {
  const [, name = 'step', value = ''] = /^(?:(step|turn|message|seq|cursor):)?(.{1,200})$/su.exec(text) ?? []
  if (name === 'turn') return value === '' ? undefined : { turn: value }
  if (name === 'message') return value === '' ? undefined : { message: value }
  if (name === 'cursor') return /^\d{1,16}\.\d{1,16}$/.test(value) ? { cursor: value } : undefined
  if (!/^\d{1,15}$/.test(value)) return undefined
  return name === 'seq' ? { seq: Number(value) } : { step: Number(value) }
}
