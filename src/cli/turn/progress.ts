/** What the body of a call tells of itself while it runs. */
import type { DeltaEvent, DurableEvent, Json } from '../../index.js'

export interface Progress {
  readonly call: string
  readonly text: Json
}

export function progressIn(event: DurableEvent | DeltaEvent): Progress | undefined {
  if (event.type === 'tool.log') return { call: event.call, text: event.text }
  if (event.type !== 'tool.progress' && event.type !== 'tool.preliminary') return undefined
  return { call: event.call, text: plain(event.event) }
}

/** `{ page: 3, of: 8 }` is read easier as "page 3, of 8". */
function plain(value: Json): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const parts = Object.entries(value)
  return parts.some(([, part]) => typeof part === 'object')
    ? value
    : parts.map(([name, part]) => `${name} ${part}`).join(', ')
}
