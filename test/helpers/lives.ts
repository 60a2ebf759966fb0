/** Processes that are killed with SIGKILL by beats (lines they print), from a seed that reproduces the same kills. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** Mulberry32. */
export function createChance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** One life; killed after `beats` lines unless it ends by itself first. */
export async function live(script: string, args: readonly string[], beats: number): Promise<'killed' | 'ended'> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  let heard = 0
  createInterface({ input: child.stdout }).on('line', () => {
    if (++heard === beats) child.kill('SIGKILL')
  })
  const { code, signal } = await new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.on('close', (status, killer) => resolve({ code: status, signal: killer })),
  )
  if (signal === 'SIGKILL') return 'killed'
  if (code !== 0) throw new Error(`the process ended with ${code}: ${errors}`)
  return 'ended'
}
