/** Starts worker processes, and puts the cause of their death into words. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { workerFile } from '../../tools/worker-url.js'
import type { WorkerData } from './wire.js'
import { workerEnv } from './worker-env.js'
import type { WorkerEnv } from './worker-env.js'

export interface SpawnOptions {
  readonly app: string
  readonly memoryMb: number
  /** Variables of the host that the worker has besides those that every process needs. */
  readonly env?: WorkerEnv | undefined
}

/**
 * Options of the host's own process that a worker must not have: they would change what the process is (`--test`),
 * keep it from starting (`--inspect` on the same port), or give it the host's environment.
 */
const notForWorkers = new RegExp(
  '^--(?:env-file|input-type|inspect|max-old-space-size|max-semi-space-size|stack-size|test|watch|' +
    'prof|cpu-prof|heap-prof|title)',
)

export function spawnWorker({ app, memoryMb, env }: SpawnOptions): ChildProcess {
  const data: WorkerData = { app, memoryMb }
  const options = [
    ...optionsOf(process.execArgv),
    ...(process.env['SKEIN_DEBUG'] === '1' ? ['--enable-source-maps'] : []),
  ]
  return spawn(process.execPath, [...options, fileURLToPath(workerFile('thread/process')), JSON.stringify(data)], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    env: workerEnv(process.env, env),
    // Not detached: a system that divides its time between sessions would make calls four times slower.
    windowsHide: true,
  })
}

/** Without code on the command line, and without options that `notForWorkers` names. */
function optionsOf(execArgv: readonly string[]): readonly string[] {
  const options: string[] = []
  for (let at = 0; at < execArgv.length; at++) {
    const option = execArgv[at] ?? ''
    if (/^(?:-e|-p|-pe|--eval|--print|--env-file|--env-file-if-exists|--input-type)$/.test(option)) at++
    else if (!notForWorkers.test(option)) options.push(option)
  }
  return options
}

export interface ProcessDeath {
  readonly code: number | null
  readonly signal: string | null
  /** The end of its standard error. */
  readonly errors: string
  readonly memoryMb: number
}

const outOfMemory =
  /heap out of memory|heap limit|invalid (?:array|table|string) (?:length|size)|Allocation failed|out of memory/i

/** The cause when only the thread of bodies ended: V8 reported that its heap is full, or the thread exited. */
export function causeOfThreadEnd(cause: string, memoryMb: number): string {
  return outOfMemory.test(cause) ? memoryExceeded(memoryMb) : cause
}

function memoryExceeded(memoryMb: number): string {
  return `it ran out of memory: a worker may have ${memoryMb} MB; work in smaller pieces, or raise workers.memoryMb`
}

export function causeOfDeath({ code, signal, errors, memoryMb }: ProcessDeath): string {
  if (outOfMemory.test(errors)) return memoryExceeded(memoryMb)
  const lastLine = errors
    .trim()
    .split('\n')
    .findLast((line) => line.trim() !== '')
  const last = lastLine === undefined ? '' : `; its last words: ${lastLine.trim().slice(0, 500)}`
  const end = signal === null ? `it exited with ${code ?? 'no code'}` : `it was ended by ${signal}`
  return `${end}${last}`
}
