/**
 * `state.runCode`: runs code of a model or a user in an engine of its own, inside the thread that asks.
 *
 * SX1 A run never rejects: whatever goes wrong is a status.
 * SX2 Nothing of a run outlives its result: no timer, no listener, no engine.
 */
import { textOf } from '../../src/core/json.js'
import type { CodeResult, RunCode } from '../../src/tools/code.js'
import { createEnding } from './ending.js'
import type { Ending } from './ending.js'
import { Guest } from './guest.js'
import { toJob } from './job.js'
import type { Job } from './job.js'
import { createMachine } from './machine.js'
import { createSaid } from './said.js'
import type { Said } from './said.js'
import { strip } from './strip.js'
import type { Stripped } from './strip.js'
import { linkError, terminatedError } from './verdict.js'
import type { Verdict } from './verdict.js'

export interface RunCodeOptions {
  /** Of the call: its abort ends every run. */
  readonly signal?: AbortSignal
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
}

const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6

export function createRunCode({ signal, now = monotonicMs }: RunCodeOptions = {}): RunCode {
  return (source, options) => {
    const startedAt = now()
    const said = createSaid()
    const job = toJob(source, options)
    const ending = createEnding({ timeoutMs: 'bad' in job ? 0 : job.timeoutMs, now, signal })
    const told = 'bad' in job ? Promise.resolve(linkError(job.bad)) : perform(job, { ending, said, now })
    const result = told.catch(unforeseen).then((verdict): CodeResult => {
      ending.close()
      return { ...verdict, logs: said.logs, reports: said.reports, durationMs: now() - startedAt }
    })
    return Object.assign(result, {
      terminate: (reason = 'the run was terminated') => ending.end(terminatedError(reason)),
    })
  }
}

function unforeseen(thrown: unknown): Verdict {
  return { status: 'error', error: { name: 'InternalError', message: `the sandbox failed: ${textOf(thrown)}` } }
}

interface Surroundings {
  readonly ending: Ending
  readonly said: Said
  readonly now: () => number
}

async function perform(job: Job, { ending, said, now }: Surroundings): Promise<Verdict> {
  if (ending.due() && ending.why) return ending.why
  const stripped = new Map<string, Stripped>()
  try {
    if (job.language === 'ts') for (const [name, source] of job.modules) stripped.set(name, await strip(name, source, ending.signal))
  } catch (thrown) {
    if (ending.why) return ending.why
    if (!(thrown instanceof SyntaxError)) throw thrown
    return { status: 'error', error: { name: thrown.name, message: thrown.message } }
  }
  const sources = new Map(Array.from(job.modules, ([name, source]) => [name, stripped.get(name)?.code ?? source]))
  const machine = await createMachine(job.memoryLimitBytes, ending.due)
  return new Guest(machine, { job, sources, ending, said, now, written: (stack) => written(stack, stripped) }).run()
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
