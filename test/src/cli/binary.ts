/**
 * The command line: `skein` runs the program in this process with streams of its own, `start` and `spawned` the real
 * binary, for what only a process has (signals, a terminal, pipes, an environment that tools see). Starting one costs
 * as much as all the rest of a test. Owns the processes it starts and the folders of their stores; waiting is always
 * for a line or for the end, never for time.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { skein as program } from '../../../src/cli/program.js'
import type { StopSignal } from '../../../src/cli/process.js'
import { createSkein, local } from '../../../src/index.js'
import type { CreateThread, Skein } from '../../../src/index.js'

export const binary = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url))
export const app = fixture('app')

export function fixture(name: string): string {
  return fileURLToPath(new URL(`fixtures/${name}.ts`, import.meta.url))
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface Settings {
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
  /** A person sits there, and types `input`. Only in this process. */
  readonly terminal?: boolean
  /** What the person types after `input`: each when the text before it was printed, anew. Only in this process. */
  readonly types?: readonly (readonly [after: string, line: string])[]
}

interface Seed extends CreateThread {
  readonly say?: string
}

export interface Started {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Resolves when this was written, on stdout or stderr; rejects when the process ends without it. */
  says(text: string): Promise<void>
}

/** A folder for one test, or for those that `over` ends, with the store in it. */
export function place(over: (remove: () => void) => void = onTestFinished) {
  const folder = mkdtempSync(join(tmpdir(), 'skein-cli-'))
  const store = join(folder, 'store')
  over(() => rmSync(folder, { recursive: true, force: true }))
  const env = { SKEIN_STORE: store }
  const start = (args: readonly string[], settings: Settings = {}): Started =>
    launch(process.execPath, [binary, ...args], { ...settings, env: { ...env, ...settings.env } })
  /** A host in this process: another one to the binary. */
  const host = (of = app): Promise<Skein> => createSkein({ app: of, backend: local(store) })
  /** Idle threads, each after a turn of its own. */
  const seed = async (...threads: readonly Seed[]): Promise<void> => {
    const here = await host()
    for (const { say = 'one', ...thread } of threads) await (await here.threads.create(thread)).send(say).result()
    await here.close()
  }
  /** The program in this process, for as long as it likes. */
  const startHere = (args: readonly string[], settings: Settings = {}): Here =>
    begin(args, { ...settings, env: { ...env, ...settings.env } })
  const spawned = (args: readonly string[], settings: Settings = {}): Promise<Ended> => start(args, settings).ended
  const skein = (args: readonly string[], settings: Settings = {}): Promise<Ended> =>
    runHere(args, { ...settings, env: { ...env, ...settings.env } })
  return { folder, store, env, start, startHere, host, seed, spawned, skein }
}

interface Here {
  readonly ended: Promise<Ended>
  /** Resolves when this was written, on stdout or stderr. */
  says(text: string): Promise<void>
  signal(name: StopSignal): void
  /** What stands on stdout so far. */
  output(): string
}

function runHere(args: readonly string[], settings: Settings): Promise<Ended> {
  return begin(args, settings).ended
}

/** Without input its stdin is /dev/null. */
function begin(args: readonly string[], { input, env = {}, terminal = false, types = [] }: Settings): Here {
  const waiting = new Set<() => void>()
  const [stdout, stderr] = [collected(waiting), collected(waiting)]
  const typed = async function* (): AsyncGenerator<Buffer> {
    if (input !== undefined) yield Buffer.from(input)
    let from = 0
    for (const [after, line] of types) {
      await new Promise<void>((resolve) => {
        const look = (): void => {
          const found = stdout.text().indexOf(after, from)
          if (found < 0) return
          from = found + after.length
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      })
      yield Buffer.from(line)
    }
  }
  let heard: (signal: StopSignal) => void = () => undefined
  const ended = program(args, {
    stdin: Readable.from(typed()),
    piped: () => input !== undefined && !terminal,
    interactive: () => terminal,
    stdout: terminal ? Object.assign(stdout.stream, { isTTY: true, columns: 100, rows: 40 }) : stdout.stream,
    ownStdout: () => stdout.stream,
    stderr: stderr.stream,
    env,
    onSignal: (told) => (heard = told),
    exit: (early) => expect.unreachable(`it left with ${early} before its end`),
  }).then((code) => ({ code, stdout: stdout.text(), stderr: stderr.text() }))
  const says = (text: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!stdout.text().includes(text) && !stderr.text().includes(text)) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  return { ended, says, signal: (name) => heard(name), output: stdout.text }
}

function collected(waiting: ReadonlySet<() => void>) {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      chunks.push(chunk)
      for (const look of [...waiting]) look()
      done()
    },
  })
  return { stream, text: () => Buffer.concat(chunks).toString() }
}

export function launch(command: string, args: readonly string[], { input, env }: Settings): Started {
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'], ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const written = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => {
      written[stream] += text
      for (const look of [...waiting]) look()
    })
  }
  child.stdin?.end(input)
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...written }))
  })
  const says = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!written.stdout.includes(text) && !written.stderr.includes(text)) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
      void ended.then(({ code }) =>
        reject(
          new Error(`ended with ${code} and never said ${JSON.stringify(text)}:\n${written.stdout}${written.stderr}`),
        ),
      )
    })
  return { child, ended, says }
}

export interface Line {
  readonly [name: string]: unknown
}

/** Every line is one JSON object, or this throws. */
export function objects(text: string): readonly Line[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}
