/**
 * The output of a command. Owns the two streams and, on a terminal, the transient lines at its bottom.
 *
 * - With `json` stdout and stderr carry JSON objects only, one per line.
 * - No escape code is written unless stdout is a terminal; no colour when NO_COLOR is set.
 * - A reader that goes away (`| head`) is no error: what is written after that is dropped, and `readerGone` resolves.
 * - All text goes through `visible`: the only escape codes on a screen are those of `paint` and of the transient
 *   lines.
 */
import { randomInt } from 'node:crypto'
import { fitted } from './format.js'
import { visible } from './visible.js'
import type { Screen, CliProcess } from './process.js'

export type Mode = 'live' | 'plain' | 'json'

const colours = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

export type Colour = keyof typeof colours

export interface CliOutput {
  readonly mode: Mode
  /** Resolves when nobody reads stdout any more. */
  readonly readerGone: Promise<void>
  /** Writes text to stdout. */
  print(text: string): void
  /** Writes bytes to stdout, unchanged; resolves when there is room for more. */
  bytes(chunk: Uint8Array): Promise<void>
  /** Writes one object to stdout. */
  json(value: object): void
  /** Writes a line beside the result, to stderr; with --json, as `{ note, … }`. */
  note(text: string, data?: object): void
  /** The same; with --json, as this object. */
  complain(text: string, value: object): void
  /** A person has ended the line on the terminal. */
  lineTyped(): void
  /** Replaces the transient lines at the bottom of a terminal; does nothing elsewhere. */
  show(lines: readonly string[]): void
  paint(colour: Colour, text: string): string
  /** The line, cut to the width of the terminal. */
  fit(line: string): string
}

export function createOutput({ stdout, stderr, env }: CliProcess, json: boolean): CliOutput {
  const mode = modeOf(json, stdout.isTTY === true && env['TERM'] !== 'dumb')
  const coloured = mode === 'live' && !env['NO_COLOR']
  const brush = createBrush()
  const bottom = createBottom(brush.shown, () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 }))
  const readerGone = watchReaders(stdout, stderr)
  const write = (stream: NodeJS.WritableStream, raw: string): void => {
    const text = brush.shown(raw)
    if (mode !== 'live') return void stream.write(text)
    stdout.write(bottom.clear())
    stream.write(text)
    stdout.write(bottom.restore(text))
  }
  const line = (text: string, value: object): void => write(stderr, `${json ? JSON.stringify(value) : text}\n`)
  return {
    mode,
    readerGone,
    print: (text) => text !== '' && write(stdout, text),
    bytes: (chunk) => new Promise((done) => void stdout.write(chunk, () => done())),
    json: (value) => write(stdout, `${JSON.stringify(value)}\n`),
    note: (text, data) => line(text, { note: text, ...data }),
    complain: line,
    lineTyped: bottom.lineTyped,
    show: (lines) => mode === 'live' && stdout.write(bottom.replace(lines)),
    paint: (colour, text) => (coloured ? brush.paint(colours[colour], text) : text),
    fit: (text) => brush.fit(text, (stdout.columns || 80) - 1),
  }
}

function modeOf(json: boolean, terminal: boolean): Mode {
  if (json) return 'json'
  return terminal ? 'live' : 'plain'
}

const plainEnd = '\u001B[0m'

/**
 * Until they are written, our colour codes carry a random number: `shown` lets these through and makes all others,
 * which models and tools wrote, visible.
 */
function createBrush() {
  const secret = randomInt(100_000, 1_000_000)
  const code = (number: number): string => `\u001B[${number};${secret}m`
  const codes = new RegExp(`(\u001B\\[\\d+;${secret}m)`)
  return {
    paint: (number: number, text: string): string => `${code(number)}${text}${code(0)}`,
    fit(text: string, columns: number): string {
      const cut = fitted(text, columns)
      return cut.endsWith(plainEnd) ? `${cut.slice(0, -plainEnd.length)}${code(0)}` : cut
    },
    shown: (text: string): string =>
      text
        .split(codes)
        .map((part, index) => (index % 2 === 0 ? visible(part) : part.replace(`;${secret}m`, 'm')))
        .join(''),
  }
}

/** Resolves when nobody reads stdout. Both streams need a listener, or an EPIPE ends the process with a stack trace. */
function watchReaders(stdout: Screen, stderr: NodeJS.WritableStream): Promise<void> {
  const broken = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error
  }
  stderr.on('error', broken)
  return new Promise((resolve) => {
    stdout.on('error', (error: NodeJS.ErrnoException) => {
      broken(error)
      resolve()
    })
  })
}

/** The transient lines: gives what must be written to remove them and to draw them again. */
function createBottom(
  clean: (text: string) => string,
  size: () => { readonly columns: number; readonly rows: number },
) {
  let lines: readonly string[] = []
  let drawn = 0
  let lineOpen = false
  const clear = (): string => {
    const up = drawn > 0 ? `\u001B[${drawn}F\u001B[J` : ''
    drawn = 0
    return up
  }
  const draw = (): string => {
    if (lines.length === 0) return ''
    const { columns, rows } = size()
    // What was written above them stays in sight.
    const room = Math.ceil((rows * 2) / 3)
    const shown = lines.length > room ? [...lines.slice(0, room - 1), `… and ${lines.length - room + 1} more`] : lines
    const start = lineOpen ? '\n' : ''
    lineOpen = false
    drawn = shown.length
    return `${start}${shown.map((text) => `${fitted(clean(text).replaceAll('\n', ' '), columns - 1)}\n`).join('')}`
  }
  return {
    clear,
    lineTyped: () => {
      lineOpen = false
    },
    restore(written: string): string {
      if (written !== '') lineOpen = !written.endsWith('\n')
      return lineOpen ? '' : draw()
    },
    replace(next: readonly string[]): string {
      if (next.length === 0 && drawn === 0) {
        lines = next
        return ''
      }
      const up = clear()
      lines = next
      return up + draw()
    },
  }
}
