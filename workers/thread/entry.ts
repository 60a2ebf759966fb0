/**
 * The thread of bodies in a worker process: Piscina starts it with its one task, `serveBodies`. The app is imported
 * once, by the same URL as on the host, so no closure ever crosses (D2); then calls are run, any number at a time.
 *
 * - A call is always answered, with data; an error that is thrown loses its class on the way.
 * - A call that was ended or withdrawn before it began never begins. Nothing is awaited between that check and the
 *   body.
 * - An aborted body is waited for: the host ends the worker of one that does not end by itself.
 * - An uncaught exception and `process.exit` end the worker; the host is told why, and which call it was, where the
 *   async context knows. An unhandled rejection is printed and ends nothing.
 */
import { isDefinition } from '../../src/agent/lookalike.js'
import { systemClock } from '../../src/core/clock.js'
import { defined } from '../../src/core/defined.js'
import { failure, toFailure } from '../../src/core/failure.js'
import { whereAndWhy } from '../../src/pool/source-line.js'
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
import { currentCall, redirectOutput, runForCall } from './output.js'
import { startHeartbeat } from './heartbeat.js'
import { createProgress } from '../body/progress.js'

const mb = 1024 * 1024
const execute: BodyPart = { part: 'execute' }

/** What all calls of the thread share. */
interface ThreadServices {
  readonly app: string
  readonly host: HostPort
  readonly contents: ContentCache
  readonly findTool: Promise<FindTool>
}

/** The one task of this thread. It never ends: calls arrive over the connection to the host. */
export function serveBodies({ app, memoryMb, numbers }: WorkerThreadData): Promise<never> {
  const contents = createContentCache(Math.min(32, memoryMb / 4) * mb)
  const host = createHostPort(numbers, (task, port) => void run(services, task, port))
  reportEnds(host)
  startHeartbeat({ clock: systemClock, numbers, memoryMb })
  redirectOutput(
    createProgress({
      clock: systemClock,
      redactor: undefined,
      emit: (output) => output.type === 'log' && host.post({ call: 0, printed: output.text }),
    }),
  )
  const findTool = importTools(app)
  const services: ThreadServices = { app, host, contents, findTool }
  findTool.then(
    () => host.post({ call: 0, loaded: true }),
    (thrown: unknown) => host.post({ call: 0, loaded: true, failure: notLoaded(thrown) }),
  )
  return new Promise<never>(() => undefined)
}

function reportEnds(host: HostPort): void {
  const reportDying = (dying: string): void =>
    host.post({ call: 0, dying, ...defined({ culprit: currentCall()?.call }) })
  process.on('uncaughtException', (thrown) => {
    reportDying(toFailure(thrown, 'WORKER_CRASHED').message)
    process.kill(process.pid, 'SIGKILL')
  })
  process.on('unhandledRejection', (thrown) => {
    const cause = thrown instanceof Error ? (thrown.stack ?? thrown.message) : textOf(thrown)
    process.stderr.write(
      `${currentCall()?.tool ?? 'the app'} left a promise that nobody awaits, and it was rejected: ${cause}\n`,
    )
  })
  const { exit } = process
  const reportedExit: typeof exit = (code) => {
    reportDying(`it exited with ${code ?? process.exitCode ?? 0}`)
    return exit.call(process, code)
  }
  Object.assign(process, { exit: reportedExit })
}

async function run(services: ThreadServices, task: WorkerTask, port: CallPort): Promise<void> {
  const { host } = services
  const { call } = task
  try {
    const returned = await runTask(services, task, port)
    if (returned) host.postResult(call, port.ended ? failed(port.ended) : sendContents(returned, port))
  } catch (thrown) {
    host.postResult(call, failed(toFailure(thrown, 'TOOL_THREW')))
  } finally {
    host.end(port)
  }
}

/** Undefined if the call was withdrawn. */
async function runTask(
  { app, host, contents, findTool }: ThreadServices,
  task: WorkerTask,
  port: CallPort,
): Promise<Returned | undefined> {
  const {
    tool: name,
    args,
    threadId,
    idempotencyKey,
    run: part = execute,
    env = {},
    secrets = [],
    hasParent,
    trace,
  } = task
  const find = await findTool.catch((thrown: unknown) => notLoaded(thrown))
  if (typeof find !== 'function') return failed(find)
  const found = find(name)
  const tool = found instanceof Promise ? await found : found
  if (!tool) return failed(failure('UNKNOWN_TOOL', `the tool ${name} is not exported by ${app}`))
  if (!host.begin(task, port)) return port.ended ? failed(port.ended) : undefined
  const job: ToolJob = {
    tool: name,
    args,
    threadId,
    idempotencyKey,
    run: part,
    env,
    secrets,
    ...defined({ hasParent: hasParent || undefined, trace }),
    cancel: port.cancel,
    snapshot: createRemoteSnapshot(port, contents, task.contexts),
    emit: (output) => port.emit(output),
  }
  return invoke(tool, job, {
    find,
    clock: systemClock,
    limits: 'elsewhere',
    within: (recorder, body) => runForCall({ port, recorder }, body),
  })
}

/** The bytes of new files go ahead of the result. */
function sendContents({ contents, ...returned }: Returned, port: CallPort): Returned {
  for (const content of contents ?? []) port.sendContent(content)
  return returned
}

function failed(why: Failure): Returned {
  return { outcome: { ok: false, failure: why } }
}

function notLoaded(thrown: unknown): Failure {
  return { ...toFailure(thrown, 'APP_NOT_LOADED'), message: whereAndWhy(thrown) }
}

async function importTools(app: string): Promise<FindTool> {
  // So that stacks of the app's bodies name its sources.
  process.setSourceMapsEnabled(true)
  const exported: object = await import(app)
  const definitions = Object.values(exported).flat().filter(isDefinition)
  return createFindTool(
    new Map(
      definitions.flatMap((definition) => (definition.kind === 'tool' ? [[definition.name, definition] as const] : [])),
    ),
  )
}
