/**
 * One recorded thread, record by record: before each record is folded, the definitions of today are asked for the
 * decision that it holds. The state is that of the journal at every place, so one difference never causes another: the
 * first is where the thread of today would have gone another way.
 *
 * RW1 Nothing is run and nothing is written: no body, no child, no hook; a model only where `ask` is given.
 * - What came from outside (messages, outcomes, what people decided, time) is taken as it was.
 */
import { fold } from '../../actors/thread/fold.js'
import { createState } from '../../actors/thread/state.js'
import type { ThreadState } from '../../actors/thread/state.js'
import { toFailure } from '../core/failure.js'
import type { Json } from '../core/json.js'
import { replaceSealed } from '../core/records/sealed.js'
import type { CallReturned, CallsMade, ModelReplied, ThreadRecord } from '../core/records/record.js'
import type { ModelReply } from '../models/port.js'
import type { PinnedRequest } from '../runtime/handles/thread-export.js'
import { callDifference, differenceOf, replyDifference, requestDifference, stepDifference } from './differences.js'
import type { Difference } from './differences.js'
import type { Recording } from './source.js'
import { lackOf, replyOf } from './today.js'
import type { Today } from './today.js'
import type { ReplayedVariables } from './variables.js'

/** Where the definitions of today would have acted otherwise. */
export interface Divergence extends Difference {
  readonly step: number
  /** The record that would be another. */
  readonly seq: number
}

export interface WalkOptions {
  readonly recording: Recording
  readonly today: Today
  readonly variables: ReplayedVariables
  readonly requests: readonly PinnedRequest[]
  /** Asks the model of today. */
  readonly ask?: (state: ThreadState) => Promise<ModelReply>
}

export interface Walked {
  /** Steps that were compared. */
  readonly steps: number
  readonly divergence?: Divergence
}

/** Every state of the thread in which its model was asked, with the flags that fit what was recorded. */
export async function eachRequest(
  options: WalkOptions,
  see: (state: ThreadState, step: number) => void,
): Promise<void> {
  const { recording, variables } = options
  const state = createState(recording.thread)
  const comparison = new Comparison({ ...options, requests: [] }, state)
  for (const stored of recording.records) {
    const record = replaceSealed(stored, variables.sealed)
    if (record.type === 'model.replied') {
      await comparison.of(record)
      see(state, record.step)
    }
    fold(state, record)
  }
}

export async function walk(options: WalkOptions): Promise<Walked> {
  const { recording, variables } = options
  const state = createState(recording.thread)
  const comparison = new Comparison(options, state)
  let steps = 0
  for (const stored of recording.records) {
    const record = replaceSealed(stored, variables.sealed)
    const found = await comparison.of(record)
    if (found) return { steps, divergence: { step: stepOf(record, state), seq: record.seq, ...found } }
    if (record.type === 'model.replied' || record.type === 'calls.made') steps++
    fold(state, record)
  }
  return { steps }
}

function stepOf(record: ThreadRecord, { step }: ThreadState): number {
  return 'step' in record ? record.step : step
}

type Found = Difference | undefined

class Comparison {
  readonly #options: WalkOptions
  readonly #state: ThreadState

  constructor(options: WalkOptions, state: ThreadState) {
    this.#options = options
    this.#state = state
  }

  async of(record: ThreadRecord): Promise<Found> {
    const { today } = this.#options
    const state = this.#state
    switch (record.type) {
      case 'thread.created':
        return today.app.agents.has(record.agent) ? undefined : agentMissing(record.agent)
      case 'turn.started':
        return differenceOf('turn', {
          recorded: record.session?.maxTurns,
          now: today.maxSessionTurns(state),
          says: 'the turn is another: whether two sides speak in it, or how often',
        })
      case 'model.replied':
        return this.#replied(record)
      case 'calls.made':
        return record.immediate ? this.#forAnyFlags(async () => this.#begun(record)) : undefined
      case 'call.queued':
        return callDifference(record.call, await today.queued(state, record.call), 'the call')
      case 'call.returned':
        return this.#returned(record)
      case 'call.decided':
        return record.call && callDifference(record.call, today.edited(record), `call ${record.index}, as approved,`)
      default:
        return undefined
    }
  }

  async #replied(record: ModelReplied & ThreadRecord): Promise<Found> {
    try {
      const decided = async (): Promise<Found> => this.#begun(record) ?? this.#asked(record) ?? this.#meant(record)
      return (await this.#forAnyFlags(decided)) ?? (await this.#repeated(record))
    } catch (thrown) {
      const { message } = lackOf(thrown)
      return { kind: 'agent', recorded: this.#state.agent, now: null, explanation: message }
    }
  }

  /** Undefined where it is the same for some setting of flags whose values nobody knows. */
  async #forAnyFlags(compare: () => Promise<Found>): Promise<Found> {
    const found: Difference[] = []
    for (const _ of this.#options.today.envs.flagSettings(this.#state)) {
      const difference = await compare()
      if (!difference) return undefined
      found.push(difference)
    }
    return found[0]
  }

  /** Children that begin before the model is first asked. */
  #begun(record: (ModelReplied | CallsMade) & ThreadRecord): Found {
    const now = this.#options.today.immediateCalls(this.#state, record.at)
    if (!now) return undefined
    return stepDifference({ calls: record.type === 'calls.made' ? record.calls : [] }, { calls: now })
  }

  #asked(record: ModelReplied): Found {
    const { today, requests, recording } = this.#options
    const pinned = requests.findLast(({ thread, step }) => thread === recording.thread && step <= record.step)
    const found = pinned && requestDifference(pinned, this.#pinned())
    if (found) return found
    const models = today.modelsOf(this.#state)
    if (models.includes(record.model)) return undefined
    const says = `the model ${record.model} was asked; now it is ${models.join(', or after it ')}`
    return differenceOf('model', { recorded: record.model, now: models[0], says })
  }

  #pinned(): Pick<PinnedRequest, 'system' | 'tools'> {
    return pinnedRequest(this.#options.today, this.#state)
  }

  /** What the recorded reply means now. */
  async #meant(record: ModelReplied): Promise<Found> {
    // Hooks have changed it: they are not asked here, and what they made of it is taken as it was.
    if (record.hooks) return undefined
    const now = await this.#options.today.replied(this.#state, record.step, replyOf(record))
    return now && stepDifference(record, now)
  }

  /** What the model of today replies. */
  async #repeated(record: ModelReplied): Promise<Found> {
    const { ask, today } = this.#options
    if (!ask) return undefined
    try {
      const reply = await ask(this.#state)
      const now = await today.replied(this.#state, record.step, reply)
      return now && replyDifference(record, reply, now)
    } catch (thrown) {
      const { code, message } = toFailure(thrown, 'MODEL_REJECTED')
      const recorded: Json = { text: record.text }
      return {
        kind: 'reply',
        recorded,
        now: { failure: { code, message } },
        explanation: `the model fails: ${message}`,
      }
    }
  }

  /** Calls that a body has queued. */
  async #returned({ tool, index, queued = [] }: CallReturned): Promise<Found> {
    for (const call of queued) {
      const now = await this.#options.today.queued(this.#state, call, tool)
      const found = callDifference(call, now, `a call that call ${index} has queued`)
      if (found) return found
    }
    return undefined
  }
}

/** Of a request, what definitions alone decide. Secrets of definitions are masked: it is kept in files. */
export function pinnedRequest(today: Today, state: ThreadState): Pick<PinnedRequest, 'system' | 'tools'> {
  const { system, tools } = today.requestOf(state)
  return { system: today.envs.redactor(state)?.text(system) ?? system, tools }
}

function agentMissing(agent: string): Difference {
  return { kind: 'agent', recorded: agent, now: null, explanation: `the agent ${agent} is not defined any more` }
}
