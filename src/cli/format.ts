/** Values as text for people: times, sizes, one-line previews, tables. Pure; writes to no stream. */
import type { Failure, ThreadInfo, Usage } from '../index.js'
import { label, visible } from './visible.js'

/** A structured answer, as a line of JSON that a program can read. */
export function outputText(output: unknown): string {
  return `${visible(JSON.stringify(output))}\n`
}

export function oneLine(text: string, maxLength: number): string {
  const flat = visible(text).replace(/\s+/g, ' ').trim()
  const points = [...flat]
  return points.length > maxLength ? `${points.slice(0, maxLength - 1).join('')}…` : flat
}

/** One line, except that every item of a list in the text keeps a line of its own. */
export function joinWords(text: string): string {
  return visible(text)
    .trim()
    .replace(/\s*\n(?!- )\s*/g, ' ')
}

export function preview(value: unknown, maxLength: number): string {
  return oneLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), maxLength)
}

/** Characters that take two columns. */
const wide = new RegExp(
  '[\\u1100-\\u115F\\u2E80-\\uA4CF\\uAC00-\\uD7A3\\uF900-\\uFAFF\\uFE30-\\uFE6F\\uFF00-\\uFF60\\uFFE0-\\uFFE6]' +
    '|\\p{Emoji_Presentation}',
  'u',
)
// oxlint-disable-next-line no-control-regex
const escapeCode = /\u001B\[[\d;]+m/y

/** The text, cut to so many columns. Escape codes take none, and a cut line ends its colour. */
export function fitted(text: string, columns: number): string {
  let used = 0
  let shown = ''
  for (let at = 0; at < text.length;) {
    escapeCode.lastIndex = at
    const code = escapeCode.exec(text)?.[0]
    const piece = code ?? String.fromCodePoint(text.codePointAt(at) ?? 0)
    used += code ? 0 : widthOf(piece)
    if (used > columns) return `${shown.slice(0, -1)}…${text.includes('\u001B') ? '\u001B[0m' : ''}`
    shown += piece
    at += piece.length
  }
  return shown
}

function widthOf(char: string): number {
  return wide.test(char) ? 2 : 1
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

const twoDigits = (value: number): string => String(value).padStart(2, '0')

export function clockTime(at: number): string {
  const date = new Date(at)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')
}

export function dateTime(at: number): string {
  const date = new Date(at)
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())} ${clockTime(at)}`
}

export function spent({ inputTokens, outputTokens, costUsd }: Usage): string {
  const tokens = `${inputTokens} in / ${outputTokens} out tokens`
  return costUsd > 0 ? `${tokens} · $${costUsd.toFixed(4)}` : tokens
}

export function addedUsage(one: Usage, other: Usage): Usage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    costUsd: one.costUsd + other.costUsd,
  }
}

export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`
}

const units = ['B', 'kB', 'MB', 'GB', 'TB']

export function byteCount(count: number): string {
  let rest = count
  let unit = 0
  // Not 1000: from 999.95 on, one decimal would round up to it.
  while (rest >= 999.95 && unit < units.length - 1) {
    rest /= 1_000
    unit++
  }
  return `${unit === 0 ? count : rest.toFixed(1)} ${units[unit]}`
}

export function failureLine({ code, message }: Failure, maxLength = 500): string {
  return `${code}: ${oneLine(message, maxLength)}`
}

/** An idle thread has a reason only where its budget is spent: without a grant it does not go on. */
export function statusText({ status, reason }: Pick<ThreadInfo, 'status' | 'reason'>): string {
  return status === 'idle' && reason !== undefined ? 'idle (budget spent)' : status
}

/** Columns as wide as their widest cell; a cell is one line. */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(label))
  const widths = rows.reduce<readonly number[]>(
    (widest, row) => row.map((cell, index) => Math.max(cell.length, widest[index] ?? 0)),
    [],
  )
  const line = (row: readonly string[]): string => row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ')
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('')
}

/** The word, quoted so that a shell reads it unchanged. */
export function shellWord(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
