/** Jobs in processes of their own: a fresh Node each, one line of JSON back, never longer than its time. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { z } from 'zod'
import type { Contender } from './contenders.js'

export interface Job {
  readonly work:
    | 'w1'
    | 'calibrate'
    | 'w2'
    | 'calls'
    | 'io'
    | 'files'
    | 'w3'
    | 'live'
    | 'w5'
    | 'w5raw'
    | 'moves'
    | 'w6'
    | 'w6across'
    | 'w7'
    | 'w7open'
    | 'prep'
    | 'step'
    | 'inject'
    | 'import'
    | 'start'
    | 'w9'
    | 'w10'
    | 'w11'
    | 'w11idle'
    | 'w11tree'
    | 'w12'
    | 'w13'
  readonly folder?: string
  /** W9: steps of the turn, and what its model takes. */
  readonly steps?: number
  readonly contextTokens?: number
  readonly sizes?: readonly number[]
  readonly turns?: number
  /** Turns before anything counts; in W1 of 50 steps. */
  readonly warm?: number
  /** A full collection of garbage before every turn. */
  readonly gc?: boolean
  readonly budgetMs?: number
  /** W2: how long one call should take, how many there are in a step, and how much each computes. */
  readonly callMs?: number
  readonly calls?: number
  readonly iterations?: number
  /** W2b: calls in one sample, and how long one waits; W5, moves: how long a step takes. */
  readonly count?: number
  readonly waitMs?: number
  /** W3: children of one parent, also in the warm-up; and what a Skein is opened with. */
  readonly children?: number
  readonly warmChildren?: number
  readonly limits?: { readonly maxParallelChildren: number; readonly maxChildren: number }
  /** On NATS: the server, how many hosts, what one call of a model takes, and how many a host makes at once. */
  readonly url?: string
  readonly namespace?: string
  readonly hosts?: number
  readonly latencyMs?: number
  readonly connections?: number
  /** W5, the ceiling: messages under way at once. */
  readonly windows?: readonly number[]
  /** W5: how threads come to another host. */
  readonly how?: 'kill' | 'leave' | 'join'
  /** W6: size of the attachment; and whether it is written and read as a stream. */
  readonly streams?: boolean
  readonly bytes?: number
  /** W10: threads that are listed. W7: threads at rest, and how many of them are spoken to. */
  readonly threads?: number
  readonly wakes?: number
  /** W11: streams of one tree at once. */
  readonly clients?: number
  readonly messages?: number
  readonly thread?: string
  /** W12: what of a thread's past its model reads. */
  readonly past?: 'summary' | 'all'
  /** W13: how often each. */
  readonly rounds?: number
}

const run = promisify(execFile)
const childFile = fileURLToPath(new URL('../child.mjs', import.meta.url))
const scratch = fileURLToPath(new URL('../.cache/', import.meta.url))
const longestMs = 10 * 60_000

export async function runJob<Answer>(
  { name, kind, mode, adapterUrl, node }: Contender,
  dist: URL,
  { job, answer }: { job: Job; answer: z.ZodType<Answer> },
): Promise<Answer> {
  const { folder } = job
  const where = {
    ...(folder && { file: join(folder, 'thread') }),
    ...(kind === 'skein' ? { dist: dist.href } : { adapterUrl }),
  }
  const flags = job.gc ? ['--expose-gc'] : []
  const { stdout } = await run(
    node?.binary ?? process.execPath,
    [...flags, childFile, JSON.stringify({ name, mode, ...where, ...job })],
    { timeout: longestMs, maxBuffer: 2 ** 26 },
  )
  return answer.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''))
}

/** Milliseconds from the start of a process to its end. */
export async function wallMs(args: readonly string[], node = process.execPath): Promise<number> {
  const start = performance.now()
  await run(node, [...args], { timeout: longestMs })
  return performance.now() - start
}

/** A folder on the disk of the project (a temporary one may lie in memory), removed afterwards. */
export async function withFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = join(scratch, randomBytes(6).toString('hex'))
  await mkdir(folder, { recursive: true })
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export async function bytesIn(folder: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    // SQLite's shared memory is no data: it is made anew by whoever opens the store.
    if (entry.isFile() && !entry.name.endsWith('-shm')) bytes += (await stat(join(entry.parentPath, entry.name))).size
  }
  return bytes
}
