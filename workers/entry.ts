/**
 * The door of a worker thread: Piscina calls `run` with a call, any number at a time. The app is imported once per
 * thread, by the same URL as on the host, so no closure ever crosses a thread (D2).
 *
 * WE1 `run` never rejects; an error becomes data here, because a thrown one loses its class on the way.
 * WE2 The first thing a call says over its port is which thread it runs on: the host can end that thread even when
 *     the body never yields.
 * WE3 An aborted body is waited for: the host ends the thread of one that does not end by itself.
 */
import { threadId as workerId } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { isDefinition } from '../src/agent/app.js'
import type { ToolDefinition } from '../src/agent/define.js'
import { createCancel } from '../src/core/cancel.js'
import type { Outcome } from '../src/core/effect.js'
import { failure, fromFailure, toFailure } from '../src/core/failure.js'
import type { Failure } from '../src/core/failure.js'
import type { Json } from '../src/core/json.js'
import { invoke } from './invoke.js'

export interface WorkerTask {
  /** Module that exports the definitions. */
  readonly app: string
  readonly tool: string
  readonly args: Json
  readonly threadId: string
  readonly idempotencyKey: string
  readonly probe?: true
  /** Says `{ worker }` once; hears a Failure when the call must end. */
  readonly port: MessagePort
}

const apps = new Map<string, Promise<ReadonlyMap<string, ToolDefinition>>>()

export async function run({ app, tool: name, port, ...job }: WorkerTask): Promise<Outcome> {
  const cancel = createCancel()
  let ended: Failure | undefined
  port.on('message', (why: Failure) => {
    ended = why
    cancel.abort(fromFailure(why))
  })
  port.postMessage({ worker: workerId })
  try {
    const tool = (await toolsOf(app)).get(name)
    if (!tool) return { ok: false, failure: failure('UNKNOWN_TOOL', `the tool ${name} is not exported by ${app}`) }
    // Ended before it began: the body never runs.
    return ended ? { ok: false, failure: ended } : await invoke(tool, { ...job, cancel })
  } catch (thrown) {
    return { ok: false, failure: toFailure(thrown, 'TOOL_THREW') }
  } finally {
    port.close()
  }
}

function toolsOf(app: string): Promise<ReadonlyMap<string, ToolDefinition>> {
  const known = apps.get(app) ?? importTools(app)
  apps.set(app, known)
  return known
}

async function importTools(app: string): Promise<ReadonlyMap<string, ToolDefinition>> {
  const exported: object = await import(app)
  const definitions = Object.values(exported).flat().filter(isDefinition)
  return new Map(definitions.flatMap((definition) => (definition.kind === 'tool' ? [[definition.name, definition] as const] : [])))
}
