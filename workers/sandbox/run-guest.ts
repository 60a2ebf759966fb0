/**
 * One run, on the thread of guests: types are stripped, an engine is made, and the job is done in it.
 */
import type { RunEnd } from './run-end.js'
import { Guest } from './guest.js'
import { createMachine } from './machine.js'
import type { GuestOutput } from './guest-output.js'
import { strip } from './strip.js'
import type { Stripped } from './strip.js'
import type { Verdict } from './verdict.js'
import type { WasmModule } from './wasm.js'
import type { GuestJob, HostCall } from './wire.js'

/** What a run has of its surroundings. */
export interface GuestContext {
  readonly end: RunEnd
  readonly output: GuestOutput
  readonly now: () => number
  readonly module: Promise<WasmModule>
  /** Calls a host function. The JSON of its answer; null: `answered` will be called. */
  callHost(call: Omit<HostCall, 'run'>): string | null
  /** The engine has so many more pages of memory. */
  onMemoryGrown(pages: number): void
  /** Set by the guest. */
  onAnswer: (id: number, text: string) => void
}

export async function runGuest(job: GuestJob, visit: GuestContext): Promise<Verdict> {
  const { end: ending } = visit
  if (ending.isDue() && ending.verdict) return ending.verdict
  const stripped = new Map<string, Stripped>()
  try {
    if (job.language === 'ts')
      for (const [name, source] of job.modules) stripped.set(name, await strip(name, source, ending.signal))
  } catch (thrown) {
    if (ending.verdict) return ending.verdict
    if (!(thrown instanceof SyntaxError)) throw thrown
    return { status: 'error', error: { name: thrown.name, message: thrown.message } }
  }
  const sources = new Map(Array.from(job.modules, ([name, source]) => [name, stripped.get(name)?.code ?? source]))
  const machine = await createMachine(await visit.module, {
    memoryLimitBytes: job.memoryLimitBytes,
    interrupted: ending.isDue,
    grown: visit.onMemoryGrown,
  })
  return new Guest(machine, { job, sources, visit, written: (stack) => written(stack, stripped) }).run()
}

const mostFrames = 20

/** The innermost frames of the code itself, in the places of what was written. */
function written(stack: string, stripped: ReadonlyMap<string, Stripped>): string {
  return stack
    .split('\n')
    .filter((line) => /:\d+:\d+\)?$/.test(line) && !line.includes('skein:'))
    .slice(0, mostFrames)
    .map((line) =>
      line.replace(/[^\s()]+:\d+:\d+/, (place) => {
        const [, name = '', at, column] = /^(.+):(\d+):(\d+)$/.exec(place) ?? []
        const found = stripped.get(name)?.written(Number(at), Number(column))
        return found ? `${name}:${found.join(':')}` : place
      }),
    )
    .join('\n')
}
