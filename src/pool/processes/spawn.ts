/** How a worker process is started, and what is said of its death. */
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
  /** Variables of the host that it has besides what every process needs. */
  readonly env?: WorkerEnv | undefined
}

/**
 * Of the host's own options: what would make a second process something else, keep it from starting, or give it the
 * host's environment.
 */
const notForWorkers =
  /^--(?:env-file|input-type|inspect|max-old-space-size|max-semi-space-size|stack-size|test|watch|prof|cpu-prof|heap-prof|title)/

export function spawnWorker({ app, memoryMb, env }: SpawnOptions): ChildProcess {
  const data: WorkerData = { app, memoryMb }
  const options = [
    ...optionsOf(process.execArgv),
    ...(process.env['SKEIN_DEBUG'] === '1' ? ['--enable-source-maps'] : []),
  ]
  return spawn(process.execPath, [...options, fileURLToPath(workerFile('thread/process')), JSON.stringify(data)], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    env: workerEnv(process.env, env),
    // In the host's own session: where the system shares its time between sessions, a call would take four times as
    // long.
    windowsHide: true,
  })
}

/** Without code that was given on the command line, and what takes a place or a file of its own. */
function optionsOf(given: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (let at = 0; at < given.length; at++) {
    const option = given[at] ?? ''
    if (/^(?:-e|-p|-pe|--eval|--print|--env-file|--env-file-if-exists|--input-type)$/.test(option)) at++
    else if (!notForWorkers.test(option)) kept.push(option)
  }
  return kept
}

export interface ProcessDeath {
  readonly code: number | null
  readonly signal: string | null
  /** Its last errors. */
  readonly said: string
  readonly memoryMb: number
}

const outOfMemory =
  /heap out of memory|heap limit|invalid (?:array|table|string) (?:length|size)|Allocation failed|out of memory/i

/** Of the thread alone: V8 could still say that its heap is used up, or a body has called `process.exit`. */
export function causeOfEnd(why: string, memoryMb: number): string {
  return outOfMemory.test(why) ? tooMuch(memoryMb) : why
}

function tooMuch(memoryMb: number): string {
  return `it ran out of memory: a worker may have ${memoryMb} MB; work in smaller pieces, or raise workers.memoryMb`
}

export function causeOfDeath({ code, signal, said, memoryMb }: ProcessDeath): string {
  if (outOfMemory.test(said)) return tooMuch(memoryMb)
  const words = said
    .trim()
    .split('\n')
    .findLast((line) => line.trim() !== '')
  const last = words === undefined ? '' : `; its last words: ${words.trim().slice(0, 500)}`
  return `${signal === null ? `it exited with ${code ?? 'no code'}` : `it was ended by ${signal}`}${last}`
}
