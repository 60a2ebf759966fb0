/**
 * The app of a simulation: the user's definitions, with models that take their time and fail now and then, and tools
 * whose runs are written down. Bodies run on the host's own thread: nothing here runs beside anything else.
 */
import { isDefinition } from '../agent/lookalike.js'
import type { Definition, ToolDefinition } from '../agent/define.js'
import { effectOf } from '../agent/effect.js'
import { SkeinError } from '../core/failure.js'
import type { ManualClock } from '../core/manual-clock.js'
import type { Model } from '../models/port.js'
import { abortable } from '../models/retry/abort.js'
import { toModel } from '../models/to-model.js'
import { appPath, importFile } from '../runtime/app/load.js'
import type { FaultPlan } from './faults.js'
import { Life } from './life.js'
import type { Outside } from './outside.js'
import type { SeededRandom } from './seeded-random.js'
import type { Witness } from './witness.js'
import { sleepBy } from './world.js'

/** A body with a side effect that was begun. */
export interface BodyRun {
  readonly tool: string
  readonly thread: string
  readonly key: string
  /** Doing it twice is doing it once, or its tool says who decides whether it is done again. */
  readonly repeatable: boolean
  readonly by: string
}

export interface AppServices {
  readonly clock: ManualClock
  readonly random: SeededRandom
  readonly plan: FaultPlan
  readonly models: Readonly<Record<string, Model>>
  readonly latencyMs: readonly [number, number]
  /** Bodies with a side effect. */
  readonly bodies: BodyRun[]
  readonly witness: Witness
  /** Threads in which a model call never ended: once in each, because Skein gives up after the second time. */
  readonly hung: Set<string>
  /** By thread: how often in a row its model was away. Skein gives up after five times. */
  readonly away: Map<string, number>
  readonly outside: Outside
}

/** A list of definitions, a module that exports them, or its URL or path, or that of a folder by convention. */
export type SimApp = readonly Definition[] | Readonly<Record<string, unknown>> | URL | string

export async function definitionsOf(app: SimApp): Promise<readonly Definition[]> {
  if (Array.isArray(app)) return app
  const module: object = app instanceof URL || typeof app === 'string' ? await importFile(appPath(app)) : app
  const found = [
    ...new Set<unknown>(Object.values(module).flatMap((value) => (Array.isArray(value) ? value : [value]))),
  ]
  return found.filter((value): value is Definition => isDefinition(value))
}

export function simulatedApp(definitions: readonly Definition[], services: AppServices): readonly Definition[] {
  const tools = new Map(definitions.flatMap((each) => (each.kind === 'tool' ? [[each.name, each] as const] : [])))
  return definitions.map((each): Definition => {
    if (each.kind === 'model') {
      const model = services.models[each.name] ?? each.model
      return { ...each, model: async () => slowModel(each.name, await toModel(model), services) }
    }
    return each.kind === 'tool' ? watchedTool(each, effectOf(each, { tools }), services) : each
  })
}

/** A turn is not given up because of the simulation. */
const mostAway = 3

function slowModel(name: string, model: Model, services: AppServices): Model {
  const { clock, random, plan, latencyMs, witness, outside, hung, away } = services
  const draws = random.stream(`model/${name}`)
  return {
    name: model.name,
    async call(request, options) {
      witness.modelAsked(request.thread, request.messages)
      await abortable(sleepBy(clock, draws.between(...latencyMs)), options)
      const times = away.get(request.thread) ?? 0
      away.set(request.thread, 0)
      if (times < mostAway && plan.draw('models', `${name} fails in ${request.thread}`)) {
        away.set(request.thread, times + 1)
        if (plan.stream('hangs').chance(0.3) && !hung.has(request.thread)) {
          hung.add(request.thread)
          // Its time limit ends it.
          await abortable(new Promise<never>(() => undefined), options)
        }
        throw new SkeinError('MODEL_UNAVAILABLE', `${name} is away in this simulation`, { retry: true })
      }
      return outside.run(`model ${name} in thread ${request.thread}`, () => model.call(request, options))
    },
  }
}

function watchedTool(
  tool: ToolDefinition,
  { sideEffect, idempotent }: ReturnType<typeof effectOf>,
  { plan, bodies, witness, outside }: AppServices,
): ToolDefinition {
  const { execute } = tool
  // A generator is told by its own form.
  if (typeof execute !== 'function' || tool.eventSchema) return tool
  return {
    ...tool,
    async execute(state, args) {
      const { threadId: thread, idempotencyKey: key } = state
      if (sideEffect) {
        const repeatable = idempotent === true || tool.probe !== undefined || (tool.onUnknown ?? 'tell') !== 'tell'
        bodies.push({ tool: tool.name, thread, key, repeatable, by: Life.current()?.name ?? '?' })
        witness.effectBegun(thread, tool.name, key)
      } else if (plan.draw('workers', `the worker of ${tool.name} in ${thread} dies`)) {
        throw new SkeinError('WORKER_CRASHED', `the worker of ${tool.name} died in this simulation`)
      }
      return outside.run(`tool ${tool.name} in thread ${thread}`, () => execute(state, args))
    },
  }
}
