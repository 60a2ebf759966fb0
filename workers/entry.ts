/**
 * The door of a worker thread: Piscina calls `run` with a call, any number at a time. The app is imported once per
 * thread, by the same URL as on the host, so no closure ever crosses a thread (D2).
 *
 * WE1 `run` never rejects; an error becomes data here, because a thrown one loses its class on the way.
 * WE2 A call that was ended or taken back before it began never begins (LI1). Between the word that it may begin and its body
 *     nothing is waited for.
 * WE3 An aborted body is waited for: the host ends the thread of one that does not end by itself.
 */
import { workerData } from 'node:worker_threads'
import { isDefinition } from '../src/agent/schema.js'
import { systemClock } from '../src/core/clock.js'
import { failure, toFailure } from '../src/core/failure.js'
import type { Failure } from '../src/core/failure.js'
import type { Job, Part, Returned } from '../src/pool/port.js'
import { createShelf } from '../src/pool/shelf.js'
import type { Shelf } from '../src/pool/shelf.js'
import { control, owned } from '../src/pool/wire.js'
import type { Answer, ThreadData, WorkerTask } from '../src/pool/wire.js'
import { createContents } from './contents.js'
import { createDesk } from './desk.js'
import { invoke } from './invoke.js'
import { createLink } from './link.js'
import type { Line } from './link.js'
import { catchOutput, heardAs } from './output.js'
import { startPulse } from './pulse.js'
import { createVoice } from './voice.js'

const { app, memoryMb } = workerData as ThreadData
const mb = 1024 * 1024

const link = createLink()
const contents = createContents(Math.min(32, memoryMb / 4) * mb)
startPulse({ clock: systemClock, numbers: link.numbers, memoryMb })
catchOutput(createVoice({ clock: systemClock, redactor: undefined, said: (what) => what.type === 'log' && link.print(what.text) }))

let shelf: Promise<Shelf> | undefined

const execute: Part = { part: 'execute' }
const takenBack: Answer = { returned: lost(failure('WORKER_CRASHED', 'it was taken back before it began')), posted: 0, taken: true }

/** Everything that calls need is there, or is known to be missing. */
export async function load(): Promise<void> {
  await (shelf ??= importTools()).catch(() => undefined)
}

export async function run(task: WorkerTask): Promise<Answer> {
  const line = link.arrive(task.call)
  try {
    const returned = await returnedBy(task, line)
    if (!returned) return takenBack
    return { returned: line.ended ? lost(line.ended) : given(returned, line), posted: line.posted }
  } catch (thrown) {
    return { returned: lost(toFailure(thrown, 'TOOL_THREW')), posted: line.posted }
  } finally {
    link.end(task.call, line)
  }
}

/** Undefined: it was taken back. */
async function returnedBy(task: WorkerTask, line: Line): Promise<Returned | undefined> {
  const { tool: name, args, threadId, idempotencyKey, run: part = execute, env = {}, secrets = [], hasParent } = task
  const find = await (shelf ??= importTools())
  const found = find(name)
  const tool = found instanceof Promise ? await found : found
  if (!tool) return lost(failure('UNKNOWN_TOOL', `the tool ${name} is not exported by ${app}`))
  if (!link.begin(task.call, line)) return line.ended ? lost(line.ended) : undefined // WE2
  if (task.timed) line.begins()
  const job: Job = { tool: name, args, threadId, idempotencyKey, run: part, env, secrets, ...(hasParent && { hasParent }), cancel: line.cancel, desk: createDesk(line, contents, task.given), said: (what) => line.say(what) }
  return invoke(tool, job, { find, clock: systemClock, limits: 'elsewhere', within: (sheet, body) => heardAs({ line, sheet }, body) })
}

/** The bytes of new files go ahead of the answer. They are the working copy's own (FC1). */
function given(whole: Returned, line: Line): Returned {
  if (!whole.contents) return whole
  const { contents: made, ...returned } = whole
  for (const { hash, bytes } of made) {
    const own = owned(bytes)
    line.give({ hash, bytes: own }, [own.buffer])
  }
  return returned
}

function lost(why: Failure): Returned {
  return { outcome: { ok: false, failure: why } }
}

async function importTools(): Promise<Shelf> {
  const exported: object = await import(app).finally(() => Atomics.store(link.numbers, control.loaded, 1))
  const definitions = Object.values(exported).flat().filter(isDefinition)
  return createShelf(new Map(definitions.flatMap((definition) => (definition.kind === 'tool' ? [[definition.name, definition] as const] : []))))
}
