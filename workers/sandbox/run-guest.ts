/**
 * One run on the thread of guests: strips types, creates an engine and runs the code in it.
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

/** What a run needs of its thread. */
export interface GuestServices {
  readonly runEnd: RunEnd
  readonly output: GuestOutput
  readonly now: () => number
  readonly module: Promise<WasmModule>
  /** Calls a host function. Returns the JSON of its reply, or null if `onAnswer` will be called with it. */
  callHost(call: Omit<HostCall, 'run'>): string | null
  /** The engine has allocated so many more pages. */
  onMemoryGrown(pages: number): void
  /** Set by the guest: receives a later reply. */
  onAnswer: (id: number, text: string) => void
}

export async function runGuest(job: GuestJob, services: GuestServices): Promise<Verdict> {
  const { runEnd } = services
  if (runEnd.isDue() && runEnd.verdict) return runEnd.verdict
  const stripped = new Map<string, Stripped>()
  try {
    if (job.language === 'ts')
      for (const [name, source] of job.modules) stripped.set(name, await strip(name, source, runEnd.signal))
  } catch (thrown) {
    if (runEnd.verdict) return runEnd.verdict
    if (!(thrown instanceof SyntaxError)) throw thrown
    return { status: 'error', error: { name: thrown.name, message: thrown.message } }
  }
  const sources = new Map(Array.from(job.modules, ([name, source]) => [name, stripped.get(name)?.code ?? source]))
  const machine = await createMachine(await services.module, {
    memoryLimitBytes: job.memoryLimitBytes,
    interrupted: runEnd.isDue,
    onGrown: services.onMemoryGrown,
  })
  return new Guest(machine, { job, sources, services, sourceStack: (stack) => sourceStack(stack, stripped) }).run()
}

const mostFrames = 20

/** The innermost frames of the code itself, with positions in the source before types were stripped. */
function sourceStack(stack: string, stripped: ReadonlyMap<string, Stripped>): string {
  return stack
    .split('\n')
    .filter((line) => /:\d+:\d+\)?$/.test(line) && !line.includes('skein:'))
    .slice(0, mostFrames)
    .map((frame) =>
      frame.replace(/[^\s()]+:\d+:\d+/, (position) => {
        const [, name = '', line, column] = /^(.+):(\d+):(\d+)$/.exec(position) ?? []
        const source = stripped.get(name)?.sourcePosition(Number(line), Number(column))
        return source ? `${name}:${source.join(':')}` : position
      }),
    )
    .join('\n')
}
