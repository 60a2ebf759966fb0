/**
 * `replay`: a recorded thread asked again on the definitions of today. Loads the recording and the app, walks through
 * the journal (walk.ts), and reports the first decision that would be another.
 */
import { z } from 'zod'
import type { ThreadState } from '../../actors/thread/state.js'
import type { App } from '../agent/app.js'
import { memory } from '../backend/memory/memory.js'
import { systemClock, systemRandom } from '../core/clock.js'
import { defined } from '../core/defined.js'
import { checkOptions } from '../core/options.js'
import type { Model, ModelReply } from '../models/port.js'
import { loadAppWithTools } from '../runtime/app/load.js'
import type { AppSource } from '../runtime/app/load.js'
import { createModelGates } from '../runtime/effects/model-gates.js'
import { createModels } from '../runtime/effects/models.js'
import type { PinnedRequest, ThreadExport } from '../runtime/handles/thread-export.js'
import { checkReply } from '../runtime/resolve/model-reply.js'
import { maskReply } from '../runtime/secrets/mask.js'
import { readSource, recordingOf } from './source.js'
import type { ReplaySource } from './source.js'
import { Today } from './today.js'
import { replayedVariables } from './variables.js'
import { eachRequest, pinnedRequest, walk } from './walk.js'
import type { Divergence, WalkOptions } from './walk.js'

export interface PinOptions {
  /** The definitions of today. */
  readonly app: AppSource
  /** Values of variables: an export has none. Default: each has some value. */
  readonly env?: Readonly<Record<string, string>>
}

export interface ReplayOptions extends PinOptions {
  /**
   * `recorded`: recorded replies and outcomes are given in place of models and tools. `models`: models are asked again
   * at every step, with what was recorded before it. Default `recorded`.
   */
  readonly against?: 'recorded' | 'models'
  /** Which thread of an export of a tree. Default: the one that it was made of. */
  readonly thread?: string
  /** Models in place of those of the app, by name. */
  readonly models?: Readonly<Record<string, Model>>
  readonly limits?: {
    /** How deep agents may call agents on its host. Default 8. */
    readonly maxDepth?: number
  }
}

export interface ReplayReport {
  /** The definitions of today would have acted as it was recorded. */
  readonly same: boolean
  readonly thread: string
  /** Steps that are the same. */
  readonly steps: number
  /** The first decision that would be another. */
  readonly divergence?: Divergence
}

const pinSchema = z.strictObject({
  app: z.custom<AppSource>(
    (value) => value !== undefined && value !== null,
    'must be a module URL, a path or definitions',
  ),
  env: z.record(z.string(), z.string()).exactOptional(),
})

const replaySchema = pinSchema.extend({
  against: z.enum(['recorded', 'models']).exactOptional(),
  thread: z.string().exactOptional(),
  models: z
    .record(
      z.string(),
      z.custom<Model>((value) => typeof value === 'object'),
    )
    .exactOptional(),
  limits: z.strictObject({ maxDepth: z.number().int().positive().exactOptional() }).exactOptional(),
})

export async function replayThread(source: ReplaySource, options: ReplayOptions): Promise<ReplayReport> {
  const { against, thread, models = {}, ...checked } = checkOptions(replaySchema, options, 'replay')
  const exported = await readSource(source)
  const recording = await recordingOf(exported, thread ?? exported.thread)
  const { app, disconnect } = await loadAppWithTools(checked.app)
  try {
    const opened = await openRecording(exported, recording, {
      app: withModels(app, models),
      ...defined({ env: checked.env, maxDepth: checked.limits?.maxDepth }),
    })
    const walked = against === 'models' ? await walkWithModels(opened) : await walk(opened)
    return { same: !walked.divergence, thread: recording.thread, ...walked }
  } finally {
    await disconnect()
  }
}

export async function pinThread(source: ReplaySource, options: PinOptions): Promise<ThreadExport> {
  const checked = checkOptions(pinSchema, options, 'pinRequests')
  const exported = await readSource(source)
  const { app, disconnect } = await loadAppWithTools(checked.app)
  try {
    const requests: PinnedRequest[] = []
    for (const { thread } of exported.threads)
      requests.push(...(await requestsOf(exported, thread, { app, ...defined({ env: checked.env }) })))
    return { ...exported, requests }
  } finally {
    await disconnect()
  }
}

interface OpenOptions {
  readonly app: App
  readonly env?: PinOptions['env']
  readonly maxDepth?: number
}

async function openRecording(
  exported: ThreadExport,
  recording: WalkOptions['recording'],
  { app, env = {}, maxDepth }: OpenOptions,
): Promise<WalkOptions> {
  const variables = await replayedVariables(app, recording, env)
  const read = async (hash: string): Promise<Uint8Array | undefined> => {
    const text = Object.hasOwn(exported.blobs, hash) ? exported.blobs[hash] : undefined
    return text === undefined ? undefined : Buffer.from(text, 'base64')
  }
  const today = new Today({ app, variables, read, ...defined({ maxDepth }) })
  return { recording, today, variables, requests: exported.requests ?? [] }
}

/** What is asked at each step, where it is not what was asked at the step before. */
async function requestsOf(exported: ThreadExport, thread: string, options: OpenOptions): Promise<PinnedRequest[]> {
  const opened = await openRecording(exported, await recordingOf(exported, thread), options)
  const pinned: PinnedRequest[] = []
  let last = ''
  await eachRequest(opened, (state, step) => {
    const request = pinnedRequest(opened.today, state)
    const text = JSON.stringify(request)
    if (text !== last) pinned.push({ thread, step, ...request })
    last = text
  })
  return pinned
}

function withModels(app: App, models: NonNullable<ReplayOptions['models']>): App {
  const replaced = [...app.models].map(([name, definition]) => {
    const model = Object.hasOwn(models, name) ? models[name] : undefined
    return [name, model ? { ...definition, model } : definition] as const
  })
  return { ...app, models: new Map(replaced) }
}

/** Models with their retries and fallbacks, as a host asks them. */
async function walkWithModels(options: WalkOptions): ReturnType<typeof walk> {
  const { today } = options
  const { app, envs } = today
  const backend = await memory().open('client')
  const services = { clock: systemClock, random: systemRandom }
  const gates = createModelGates({ app: () => app, signals: backend.signals, ...services })
  const modelOf = createModels(app, { ...services, gates })
  const { signal } = new AbortController()
  const ask = async (state: ThreadState): Promise<ModelReply> => {
    const setup = today.setupOf(state)
    const model = await modelOf(setup)
    const reply = checkReply(
      setup.model.name,
      await model.call(today.requestOf(state), { signal, emit: () => undefined }),
    )
    const redactor = envs.redactor(state)
    return redactor ? maskReply(redactor, reply) : reply
  }
  try {
    return await walk({ ...options, ask })
  } finally {
    gates.close()
    await backend.close()
  }
}
