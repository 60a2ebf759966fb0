/** Numbers, times and statuses in words. What is not known is a dash, never 0. */

export const dash = '–'

const whole = new Intl.NumberFormat('en')

export function countWords(value: number | undefined): string {
  return value === undefined ? dash : whole.format(value)
}

export function plural(value: number, noun: string): string {
  return `${countWords(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** Short enough for a column. */
export function compact(value: number | undefined): string {
  if (value === undefined) return dash
  if (value < 10_000) return countWords(value)
  if (value < 1_000_000) return `${(value / 1_000).toFixed(value < 100_000 ? 1 : 0)}k`
  return `${(value / 1_000_000).toFixed(1)}M`
}

export function money(usd: number | undefined): string {
  if (usd === undefined) return dash
  if (usd === 0) return '$0'
  return usd < 0.01 ? '<$0.01' : `$${usd.toFixed(2)}`
}

/** `820 ms`, `4.2 s`, `3 m 20 s`, `2 h 5 m`, `3 d 4 h`. */
export function durationWords(ms: number | undefined): string {
  if (ms === undefined || Number.isNaN(ms)) return dash
  const most = Math.max(0, ms)
  if (most < 1_000) return `${Math.round(most)} ms`
  const seconds = most / 1_000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 60) return `${Math.floor(seconds)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} m ${pad(Math.floor(seconds % 60))} s`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h ${pad(minutes % 60)} m`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** The largest unit alone, for ages in lists. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

const pad = (value: number): string => String(value).padStart(2, '0')

export function timeOfDay(at: number | undefined): string {
  if (at === undefined) return dash
  const date = new Date(at)
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`
}

export function dayAndTime(at: number | undefined): string {
  if (at === undefined) return dash
  const date = new Date(at)
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${timeOfDay(at)}`
}

/** A shape, a word and a tone for each status: no state is told by colour alone. */
export type Tone = 'quiet' | 'model' | 'tool' | 'person' | 'ok' | 'bad' | 'unknown'

export interface StatusWords {
  readonly word: string
  readonly tone: Tone
  readonly shape: 'ring' | 'half' | 'play' | 'diamond' | 'check' | 'cross' | 'square' | 'bars' | 'dots'
}

const statuses: Readonly<Record<string, StatusWords>> = {
  created: { word: 'created', tone: 'quiet', shape: 'ring' },
  idle: { word: 'idle', tone: 'quiet', shape: 'ring' },
  thinking: { word: 'thinking', tone: 'model', shape: 'half' },
  acting: { word: 'calls tools', tone: 'tool', shape: 'play' },
  waiting: { word: 'waits for children', tone: 'quiet', shape: 'dots' },
  awaiting_approval: { word: 'needs approval', tone: 'person', shape: 'diamond' },
  awaiting_human: { word: 'needs an answer', tone: 'person', shape: 'diamond' },
  awaiting_variables: { word: 'needs variables', tone: 'person', shape: 'diamond' },
  paused: { word: 'paused', tone: 'person', shape: 'bars' },
  failed: { word: 'failed', tone: 'bad', shape: 'cross' },
  done: { word: 'done', tone: 'ok', shape: 'check' },
  terminated: { word: 'terminated', tone: 'quiet', shape: 'square' },
  damaged: { word: 'damaged', tone: 'bad', shape: 'cross' },
}

export function statusWords(status: string): StatusWords {
  return statuses[status] ?? { word: status, tone: 'quiet', shape: 'ring' }
}

export const allStatuses: readonly string[] = Object.keys(statuses)

const why: Readonly<Record<string, string>> = {
  approval: 'approval',
  person: 'an answer',
  variables: 'variables',
  children: 'its children',
}

export function holdWords(reason: string): string {
  return why[reason] ?? reason
}
