/**
 * The thread of a worker process that runs bodies: Piscina starts it with its one task, `serve`. The app is imported
 * once, by the same URL as on the host, so no closure ever crosses (D2); then calls are run, any number at a time.
 *
 * - A call is always answered, with data; an error that is thrown loses its class on the way.
 * - A call that was ended or withdrawn before it began never begins. Between the word that it may begin and
 *   its body nothing is waited for.
 * - An aborted body is waited for: the host ends the worker of one that does not end by itself.
 * - What nobody caught ends the worker, and the host is told why; a promise that nobody awaited does not.
 */
import { isDefinition } from '../../src/agent/schema.js'
import { systemClock } from '../../src/core/clock.js'
import { defined } from '../../src/core/defined.js'
import { failure, toFailure } from '../../src/core/failure.js'
import type { Failure } from '../../src/core/failure.js'
import { textOf } from '../../src/core/json.js'
import type { ToolJob, BodyPart, Returned } from '../../src/pool/port.js'
import { createFindTool } from '../../src/pool/find-tool.js'
import type { FindTool } from '../../src/pool/find-tool.js'
import type { WorkerThreadData, WorkerTask } from '../../src/pool/processes/wire.js'
import { createContentCache } from './content-cache.js'
import type { ContentCache } from './content-cache.js'
import { createRemoteSnapshot } from './snapshot.js'
import { invoke } from '../body/invoke.js'
import { createHostPort } from './host-port.js'
import type { CallPort, HostPort } from './host-port.js'
import { catchOutput, runAsSpeaker, speakingTool } from './output.js'
import { startHeartbeat } from './heartbeat.js'
import { createProgress } from '../body/progress.js'

const mb = 1024 * 1024
const execute: BodyPart = { part: 'execute' }

/** What the thread has, for as long as it lives. */
interface Own {
  readonly app: string
  readonly link: HostPort
  readonly contents: ContentCache
  readonly shelf: Promise<FindTool>
}

/** The one task of this thread. It never ends: calls come over the line to the host. */
export function serve({ app, memoryMb, numbers }: WorkerThreadData): Promise<never> {
  const contents = createContentCache(Math.min(32, memoryMb / 4) * mb)
  const link = createHostPort(numbers, (task, line) => void run(own, task, line))
  process.on('uncaughtException', (thrown) => {
    link.post({ call: 0, dying: toFailure(thrown, 'WORKER_CRASHED').message })
    process.kill(process.pid, 'SIGKILL')
  })
  process.on('unhandledRejection', (thrown) => {
    const what = thrown instanceof Error ? (thrown.stack ?? thrown.message) : textOf(thrown)
    process.stderr.write(
      `${speakingTool() ?? 'the app'} left a promise that nobody awaits, and it was rejected: ${what}\n`,
    )
  })
  startHeartbeat({ clock: systemClock, numbers, memoryMb })
  catchOutput(
    createProgress({
      clock: systemClock,
      redactor: undefined,
      emit: (what) => what.type === 'log' && link.post({ call: 0, printed: what.text }),
    }),
  )
  const shelf = importTools(app)
  const own: Own = { app, link, contents, shelf }
  shelf.then(
    () => link.post({ call: 0, loaded: true }),
    (thrown: unknown) => link.post({ call: 0, loaded: true, failure: notLoaded(thrown) }),
  )
  return new Promise<never>(() => undefined)
}

async function run(own: Own, task: WorkerTask, line: CallPort): Promise<void> {
  const { link } = own
  const { call } = task
  try {
    const returned = await returnedBy(own, task, line)
    if (returned) link.answer(call, line.ended ? lost(line.ended) : given(returned, line))
  } catch (thrown) {
    link.answer(call, lost(toFailure(thrown, 'TOOL_THREW')))
  } finally {
    link.end(call, line)
  }
}

/** Undefined: it was withdrawn. */
async function returnedBy(
  { app, link, contents, shelf }: Own,
  task: WorkerTask,
  line: CallPort,
): Promise<Returned | undefined> {
  const { tool: name, args, threadId, idempotencyKey, run: part = execute, env = {}, secrets = [], hasParent } = task
  const find = await shelf.catch((thrown: unknown) => notLoaded(thrown))
  if (typeof find !== 'function') return lost(find)
  const found = find(name)
  const tool = found instanceof Promise ? await found : found
  if (!tool) return lost(failure('UNKNOWN_TOOL', `the tool ${name} is not exported by ${app}`))
  if (!link.begin(task, line)) return line.ended ? lost(line.ended) : undefined
  const job: ToolJob = {
    tool: name,
    args,
    threadId,
    idempotencyKey,
    run: part,
    env,
    secrets,
    ...defined({ hasParent: hasParent || undefined }),
    cancel: line.cancel,
    snapshot: createRemoteSnapshot(line, contents, task.contexts),
    emit: (what) => line.emit(what),
  }
  return invoke(tool, job, {
    find,
    clock: systemClock,
    limits: 'elsewhere',
    within: (sheet, body) => runAsSpeaker({ line, sheet }, body),
  })
}

/** The bytes of new files go ahead of the answer. */
function given(whole: Returned, line: CallPort): Returned {
  if (!whole.contents) return whole
  const { contents: made, ...returned } = whole
  for (const content of made) line.sendContent(content)
  return returned
}

function lost(why: Failure): Returned {
  return { outcome: { ok: false, failure: why } }
}

function notLoaded(thrown: unknown): Failure {
  return toFailure(thrown, 'APP_NOT_LOADED')
}

async function importTools(app: string): Promise<FindTool> {
  // Stacks of the app's bodies name its sources.
  process.setSourceMapsEnabled(true)
  const exported: object = await import(app)
  const definitions = Object.values(exported).flat().filter(isDefinition)
  return createFindTool(
    new Map(
      definitions.flatMap((definition) => (definition.kind === 'tool' ? [[definition.name, definition] as const] : [])),
    ),
  )
}
