/**
 * What is different between what was recorded and what the definitions of today decide about the same: the kind of it,
 * both sides, and a sentence for people. Pure.
 *
 * - A refusal is compared by its code: its words name tools and fields, and change with the packages that wrote them.
 * - Limits of the host (places for children) and sealed values are no decisions of definitions, and not compared.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../core/json.js'
import { defined } from '../core/defined.js'
import type { ChildCall, ModelReplied, RecordedCall } from '../core/records/record.js'
import type { ModelReply, ToolSpec } from '../models/port.js'

export type DivergenceKind =
  /** The agent of the thread is not defined any more, or has lost its side. */
  | 'agent'
  /** Another model is asked. */
  | 'model'
  /** Another system prompt: of a thread whose requests were pinned. */
  | 'prompt'
  /** Other tools, or other schemas of their args: likewise. */
  | 'tools'
  /** A call that was made is refused, or the other way round. */
  | 'refusal'
  /** A call is made with other args. */
  | 'args'
  /** A call waits for a person, and did not; or the other way round, or with another question. */
  | 'approval'
  /** A call waits for other variables. */
  | 'variables'
  /** Another child is called, or on other terms. */
  | 'child'
  /** A call is made otherwise: as an effect, cached, counted, as a handoff. */
  | 'call'
  /** The turn goes on where it stopped, or stops where it went on. */
  | 'stop'
  /** The turn is of another form: a session of two sides, its length. */
  | 'turn'
  /** Against models: the reply is another. */
  | 'reply'

export interface Difference {
  readonly kind: DivergenceKind
  readonly recorded: Json
  readonly now: Json
  readonly explanation: string
}

/** A difference only where both sides are not the same JSON. */
export function differenceOf(
  kind: DivergenceKind,
  { recorded, now, says }: { readonly recorded: unknown; readonly now: unknown; readonly says: string },
): Difference | undefined {
  const [before, after] = [plain(recorded), plain(now)]
  return isDeepStrictEqual(before, after) ? undefined : { kind, recorded: before, now: after, explanation: says }
}

function plain(value: unknown): Json {
  return value === undefined ? null : JSON.parse(JSON.stringify(value))
}

function first(...tries: readonly (() => Difference | undefined)[]): Difference | undefined {
  for (const attempt of tries) {
    const found = attempt()
    if (found) return found
  }
  return undefined
}

/** What a reply, or a step without a model, comes to. */
export type Step = Pick<ModelReplied, 'calls' | 'stop' | 'goesOn' | 'ends' | 'asks' | 'failure' | 'relaxes' | 'label'>

export function stepDifference(recorded: Step, now: Step): Difference | undefined {
  const count = Math.max(recorded.calls.length, now.calls.length)
  for (let index = 0; index < count; index++) {
    const found = callDifference(recorded.calls[index], now.calls[index], `call ${index}`)
    if (found) return found
  }
  const [before, after] = [meaningOf(recorded), meaningOf(now)]
  return differenceOf('stop', {
    recorded: before,
    now: after,
    says: `after this step ${meaningText(recorded)}; now ${meaningText(now)}`,
  })
}

function meaningOf({ stop, goesOn, ends, asks, failure, relaxes, label }: Step): Json {
  return plain({ stop, goesOn, ends, asks: asks !== undefined || undefined, failure: failure?.code, relaxes, label })
}

function meaningText({ calls, stop, goesOn, ends, asks, relaxes }: Step): string {
  if (stop) return `the turn stops (${stop})`
  if (ends) return `the turn ends (${ends})`
  if (asks !== undefined) return 'the model is asked for the output that its prompt requires'
  if (relaxes !== undefined) return `the turn goes on, and ${relaxes} forces no further call`
  return calls.length > 0 || goesOn ? 'the turn goes on' : 'the turn is completed'
}

export function callDifference(
  recorded: RecordedCall | undefined,
  now: RecordedCall | undefined,
  which: string,
): Difference | undefined {
  if (!recorded || !now) return callMissing(recorded, now, which)
  // What hooks decided is taken as it was.
  if (recorded.refused?.code === 'HOOK_REFUSED') return undefined
  const name = `${which} (${recorded.tool})`
  const refusal = refusalDifference(recorded, now, name)
  if (refusal || recorded.refused) return refusal
  return first(
    () => childDifference(recorded.child, now.child, name),
    () => differenceOf('args', { recorded: recorded.args, now: now.args, says: `${name} has other args now` }),
    () =>
      differenceOf('approval', { recorded: recorded.hold, now: now.hold, says: `${name} ${heldText(recorded, now)}` }),
    () =>
      differenceOf('variables', {
        recorded: recorded.needs,
        now: now.needs,
        says: `${name} needed ${listed(recorded.needs)} to have a value; now it needs ${listed(now.needs)}`,
      }),
    () => {
      const [before, after] = [traitsOf(recorded), traitsOf(now)]
      const changed = changedFields(before, after).join(', ')
      return differenceOf('call', { recorded: before, now: after, says: `${name} is made otherwise now: ${changed}` })
    },
  )
}

function callMissing(
  recorded: RecordedCall | undefined,
  now: RecordedCall | undefined,
  which: string,
): Difference | undefined {
  const says = recorded
    ? `${which} (${recorded.tool}) was made then and is not made now`
    : `${which} (${now?.tool ?? ''}) was not made then and is made now`
  return differenceOf((recorded ?? now)?.child ? 'child' : 'call', { recorded, now, says })
}

function refusalDifference(
  { refused: before }: RecordedCall,
  { refused: after }: RecordedCall,
  name: string,
): Difference | undefined {
  if (before?.code === after?.code) return undefined
  const now = after ? `now it is refused with ${after.code}: ${after.message}` : 'now it is made'
  const then = before ? `was refused with ${before.code}` : 'was made'
  return differenceOf('refusal', { recorded: before ?? null, now: after ?? null, says: `${name} ${then}; ${now}` })
}

function childDifference(
  recorded: ChildCall | undefined,
  now: ChildCall | undefined,
  name: string,
): Difference | undefined {
  const [before, after] = [recorded && termsOf(recorded), now && termsOf(now)]
  return differenceOf('child', {
    recorded: before,
    now: after,
    says:
      before && after
        ? `${name} calls ${now?.agent ?? ''} otherwise now: ${changedFields(before, after).join(', ')}`
        : `${name} was ${calledText(recorded)}, and is ${calledText(now)} now`,
  })
}

function calledText(child: ChildCall | undefined): string {
  return child ? `a call of the agent ${child.agent}` : 'no call of an agent'
}

/** What definitions decide about a child. */
function termsOf({ maxParallel: _, maxChildren: __, own, ...terms }: ChildCall): object {
  return { ...terms, ...defined({ own: own && Object.keys(own.set) }) }
}

function traitsOf({
  tool,
  args: _,
  refused: __,
  child: ___,
  hold: ____,
  needs: _____,
  after: ______,
  deferred,
  ...traits
}: RecordedCall): object {
  return { tool, ...traits, ...defined({ deferred: deferred?.missing }) }
}

function changedFields(before: object, after: object): readonly string[] {
  const [old, young] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  return [...new Set([...old.keys(), ...young.keys()])].filter(
    (name) => !isDeepStrictEqual(plain(old.get(name)), plain(young.get(name))),
  )
}

function heldText({ hold: before }: RecordedCall, { hold: after }: RecordedCall): string {
  const waited = (why: string): string => (why === 'approval' ? 'approval' : 'a person')
  if (before && after) return 'waits for a decision as it did, with another question or deadline'
  if (after) return `ran without asking; now it waits for ${waited(after.why)}`
  return `waited for ${waited(before?.why ?? '')}; now it runs without asking`
}

function listed(names: readonly string[] = []): string {
  return names.join(', ') || 'nothing'
}

export function requestDifference(
  recorded: { readonly system: string; readonly tools: readonly ToolSpec[] },
  now: { readonly system: string; readonly tools: readonly ToolSpec[] },
): Difference | undefined {
  const [before, after] = [byName(recorded.tools), byName(now.tools)]
  const changed = changedFields(before, after)
  return first(
    () => differenceOf('prompt', { recorded: recorded.system, now: now.system, says: 'the system prompt is another' }),
    () =>
      differenceOf('tools', {
        recorded: before,
        now: after,
        says: `the model is offered other tools, or other forms of them: ${changed.join(', ') || 'their order'}`,
      }),
    () =>
      differenceOf('tools', {
        recorded: recorded.tools.map(({ name }) => name),
        now: now.tools.map(({ name }) => name),
        says: 'the model is offered its tools in another order',
      }),
  )
}

function byName(tools: readonly ToolSpec[]): Readonly<Record<string, ToolSpec>> {
  return Object.fromEntries(tools.map((tool) => [tool.name, tool]))
}

/** Args as the model sent them may be text; what counts is what the call was recorded with. */
export function replyDifference(recorded: ModelReplied, reply: ModelReply, now: ModelReplied): Difference | undefined {
  const shown = ({ text, calls }: ModelReplied): object => ({
    text,
    calls: calls.map(({ tool, args }) => ({ tool, args })),
  })
  const [before, after] = [shown(recorded), shown(now)]
  const what = changedFields(before, after).join(' and ')
  return differenceOf('reply', {
    recorded: before,
    now: after,
    says: `the model (${reply.model ?? now.model}) replies otherwise now: ${what}`,
  })
}
