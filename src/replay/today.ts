/**
 * What the definitions of today decide about one thread, asked with the state that the thread had then. Each method is
 * the decision that a host makes at the same place of the same journal (src/runtime/resolve), with recorded replies
 * and outcomes in place of models and tools.
 */
import { needsImmediateCalls } from '../../actors/thread/decide/due.js'
import { land } from '../../actors/thread/decide/landings.js'
import type { ThreadState } from '../../actors/thread/state.js'
import type { App } from '../agent/app.js'
import { callablesOf } from '../agent/callable.js'
import { SkeinError } from '../core/failure.js'
import { defined } from '../core/defined.js'
import type { CallDecided, ModelReplied, RecordedCall } from '../core/records/record.js'
import type { ModelReply, ModelRequest } from '../models/port.js'
import { createAgentSetups, sessionRulesOf } from '../runtime/resolve/agent-setup.js'
import type { AgentSetup } from '../runtime/resolve/agent-setup.js'
import type { ChildLimits } from '../runtime/resolve/child-calls.js'
import { immediateCallsOf } from '../runtime/resolve/immediate-children.js'
import { toLanding } from '../runtime/resolve/model-reply.js'
import { toRequest } from '../runtime/resolve/model-request.js'
import { recordCall, recordEdited } from '../runtime/resolve/tool-calls.js'
import type { ReplayedEnvironments, ReplayedVariables } from './variables.js'

export interface TodayOptions {
  readonly app: App
  readonly variables: ReplayedVariables
  readonly maxDepth?: number
  /** The bytes of an image or document that was exported. */
  readonly read: NonNullable<ModelRequest['read']>
}

/** The default of a host; the other limits of children are not compared. */
const defaultDepth = 8

export class Today {
  readonly app: App
  readonly envs: ReplayedEnvironments
  readonly #childLimits: ChildLimits
  readonly #setups: ReturnType<typeof createAgentSetups>
  readonly #read: TodayOptions['read']

  constructor({ app, variables, maxDepth = defaultDepth, read }: TodayOptions) {
    this.app = app
    this.envs = variables.envs
    this.#childLimits = { maxParallelChildren: Infinity, maxChildren: Infinity, maxDepth }
    this.#setups = createAgentSetups(app)
    this.#read = read
  }

  /** Throws where the agent, or its side, is not defined. */
  setupOf(state: ThreadState): AgentSetup {
    return this.#setups(state.agent, state.turn?.session?.side, this.envs.disabled(state))
  }

  requestOf(state: ThreadState): ModelRequest {
    return toRequest(this.setupOf(state), state, { envs: this.envs, readMedia: this.#read })
  }

  /** The reply as it is recorded now; undefined where the thread does not wait for one. */
  async replied(state: ThreadState, step: number, reply: ModelReply): Promise<ModelReplied | undefined> {
    const landing = await toLanding(this.#definitions, this.setupOf(state), { step, reply, state })
    const decision = land(state, landing, { now: 0 })
    const [fact] = 'facts' in decision ? decision.facts : []
    return fact?.type === 'model.replied' ? fact : undefined
  }

  /** Names of the models that may answer for the agent. */
  modelsOf(state: ThreadState): readonly string[] {
    const { name, fallback = [] } = this.setupOf(state).model
    return [name, ...fallback]
  }

  /** Children that begin by themselves now; undefined where none may, or where values say how many there are. */
  immediateCalls(state: ThreadState, now: number): readonly RecordedCall[] | undefined {
    if (!needsImmediateCalls(state, { now, mayBegin: false })) return undefined
    const { subagents } = callablesOf(this.app, this.setupOf(state).prompt)
    if (subagents.some(({ immediate }) => typeof immediate === 'object')) return undefined
    return immediateCallsOf(this.#definitions, state)
  }

  /** A call that no model asked for. `by`: the tool whose body asked; absent: a caller, or a schedule. */
  queued(state: ThreadState, { tool, args }: RecordedCall, by?: string): RecordedCall | Promise<RecordedCall> {
    const allowed = by === undefined ? this.app.tools.keys() : (this.app.tools.get(by)?.uses ?? [])
    return recordCall(
      this.#definitions,
      { thread: state, allowed: new Set(allowed), ...defined({ guard: state.lineage.guard }) },
      { tool, args },
    )
  }

  edited({ call }: CallDecided): RecordedCall | undefined {
    return call && recordEdited(this.#definitions, call.tool, call.args)
  }

  maxSessionTurns(state: ThreadState): number | undefined {
    return state.turn ? undefined : sessionRulesOf(this.app, state.agent)?.maxTurns
  }

  get #definitions() {
    return { app: this.app, envs: this.envs, childLimits: this.#childLimits }
  }
}

/** The reply that was recorded, as its model gave it. */
export function replyOf({ text, calls, usage, finish, model, reasoning }: ModelReplied): ModelReply {
  return {
    text,
    calls: calls.map(({ tool, args }) => ({ tool, args })),
    usage,
    finish,
    model,
    ...defined({ reasoning }),
  }
}

/** The agent of the thread lacks something that it had; anything else is thrown on. */
export function lackOf(thrown: unknown): SkeinError {
  if (SkeinError.is(thrown, 'UNKNOWN_AGENT') || SkeinError.is(thrown, 'UNKNOWN_PROMPT')) return thrown
  throw thrown
}
