/**
 * Where a command's words go. Owns the two streams and, on a terminal, the transient lines at its bottom.
 *
 * OP1 With `json` stdout and stderr carry JSON objects only, one per line.
 * OP2 No escape code is written unless stdout is a terminal; no colour when NO_COLOR is set.
 * OP3 A reader that goes away (`| head`) is no error: what is written after is dropped, and `gone` tells.
 */
import { fitted } from './format.js'
import type { Screen, Shell } from './shell.js'

export type Mode = 'live' | 'plain' | 'json'

const colours = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

export type Colour = keyof typeof colours

export interface Output {
  readonly mode: Mode
  /** Resolves when nobody reads stdout any more. */
  readonly gone: Promise<void>
  /** Text for stdout, as it comes. */
  print(text: string): void
  /** Bytes for stdout, unchanged; resolves when there is room for more. */
  bytes(chunk: Uint8Array): Promise<void>
  /** One object for stdout. */
  json(value: object): void
  /** A line beside the result: stderr, as `{ note, … }` with --json. */
  note(text: string, data?: object): void
  /** The same, as the object that a program would want. */
  complain(text: string, value: object): void
  /** Lines at the bottom of a terminal, in the place of the last ones; nothing elsewhere. */
  show(lines: readonly string[]): void
  paint(colour: Colour, text: string): string
  /** The line, cut to the width of the terminal. */
  fit(line: string): string
}

export function createOutput({ stdout, stderr, env }: Shell, json: boolean): Output {
  const terminal = stdout.isTTY === true && env['TERM'] !== 'dumb'
  const mode: Mode = json ? 'json' : terminal ? 'live' : 'plain'
  const coloured = mode === 'live' && !env['NO_COLOR']
  const bottom = createBottom(() => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 }))
  const gone = watchReaders(stdout, stderr)
  const write = (stream: NodeJS.WritableStream, text: string): void => {
    if (mode !== 'live') return void stream.write(text)
    stdout.write(bottom.clear())
    stream.write(text)
    stdout.write(bottom.restore(text))
  }
  const line = (text: string, value: object): void => write(stderr, `${json ? JSON.stringify(value) : text}\n`)
  return {
    mode,
    gone,
    print: (text) => text !== '' && write(stdout, text),
    bytes: (chunk) => new Promise((done) => void stdout.write(chunk, () => done())),
    json: (value) => write(stdout, `${JSON.stringify(value)}\n`),
    note: (text, data) => line(text, { note: text, ...data }),
    complain: line,
    show: (lines) => mode === 'live' && stdout.write(bottom.replace(lines)),
    paint: (colour, text) => (coloured ? `\u001B[${colours[colour]}m${text}\u001B[0m` : text),
    fit: (text) => fitted(text, (stdout.columns || 80) - 1),
  }
}

/** OP3. Both streams need a listener, or an EPIPE ends the process with a stack trace. */
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

/** The transient lines: what must be written to take them away and to put them back. */
function createBottom(size: () => { readonly columns: number; readonly rows: number }) {
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
    // What was said above stays in sight.
    const room = Math.ceil((rows * 2) / 3)
    const shown = lines.length > room ? [...lines.slice(0, room - 1), `… and ${lines.length - room + 1} more`] : lines
    const start = lineOpen ? '\n' : ''
    lineOpen = false
    drawn = shown.length
    return `${start}${shown.map((text) => `${fitted(text, columns - 1)}\n`).join('')}`
  }
  return {
    clear,
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
