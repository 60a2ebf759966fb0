/**
 * Calls as hooks leave them (K1): checked, asked about, and then recorded with what the hooks want. The args that a
 * hook sees fit the schema of the tool, and so do those that it gives.
 *
 * - The calls of a reply are asked about one after the other, in call order: a child takes the next reference when its
 *   call is recorded, and one that is refused takes none.
 * - A block is one of the whole reply: nothing of it is run.
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Cancel } from '../../core/async/cancel.js'
import { failure } from '../../core/failure.js'
import type { Json } from '../../core/json.js'
import type { AskedHook } from '../../core/records/hook.js'
import type { ChildCall, RecordedCall } from '../../core/records/record.js'
import type { Schema } from '../../core/schema.js'
import type { RequestedCall } from '../../models/port.js'
import { checkArgs, sentArgs } from '../../tools/args.js'
import type { Hooks } from '../hooks/ask-hooks.js'
import { askBeforeCall, askSubagentCreated } from '../hooks/call-questions.js'
import type { CallQuestion, CallWishes, RecordAsking } from '../hooks/call-questions.js'
import { namesTool } from '../hooks/hook-sets.js'
import type { HookSet } from '../hooks/hook-sets.js'
import { recordCall } from './tool-calls.js'
import type { CallDefinitions, CallerContext } from './tool-calls.js'

/** A call that a model asks for, and how it is recorded. */
export interface HookedCall {
  readonly requested: RequestedCall
  /** Undefined: hooks are not asked about it (`response`, a tool that there is not, args that were cut). */
  readonly schema: Schema | undefined
  /** With these args. */
  record(args: unknown): RecordedCall | Promise<RecordedCall>
  /** Makes forgotten what `record` took. */
  takeBack(): void
}

export interface HookedCalls {
  readonly calls: readonly RecordedCall[]
  readonly acted: readonly AskedHook[]
  /** Why the turn ends. */
  readonly block?: string
}

export interface ReplyAsking extends Omit<RecordAsking, 'key'> {
  readonly step: number
  readonly cancel?: Cancel
}

/** The calls of a reply, in order. */
export async function recordHookedCalls(
  hooks: Hooks,
  asking: ReplyAsking,
  all: Iterable<HookedCall>,
): Promise<HookedCalls> {
  const calls: RecordedCall[] = []
  const acted: AskedHook[] = []
  for (const call of all) {
    const key = `hook/step/${asking.step}/call/${calls.length}`
    const recorded = await recordHooked(hooks, { ...asking, key }, call)
    acted.push(...recorded.acted)
    if (recorded.block !== undefined) return { calls: [], acted, block: recorded.block }
    calls.push(recorded.call)
  }
  return { calls, acted }
}

interface Recorded {
  readonly call: RecordedCall
  readonly acted: readonly AskedHook[]
  readonly block?: string
}

async function recordHooked(hooks: Hooks, asking: RecordAsking, hooked: HookedCall): Promise<Recorded> {
  const { requested, schema, record } = hooked
  const { tool } = requested
  const checked = schema && checkArgs(tool, schema, requested.args)
  if (!schema || !checked?.ok) return { call: await record(requested.args), acted: [] }
  const question: CallQuestion = {
    tool,
    args: checked.args,
    by: 'model',
    check: (args) => checkArgs(tool, schema, args),
  }
  const before = { ...asking, key: `${asking.key}/before` }
  const { value, acted } = await askBeforeCall(hooks, before, question)
  const { block } = value
  if (block !== undefined) return { call: refusedCall(tool, value.args, block), acted, block }
  const decided = decidedCall(tool, value)
  if (decided) return { call: decided, acted }
  const call = withApproval(await record(value.args), value)
  const child = await askAboutChild(hooks, { ...asking, key: `${asking.key}/child` }, call)
  if (!child) return { call, acted }
  if (child.call.refused?.code === 'HOOK_REFUSED') hooked.takeBack()
  return { call: child.call, acted: [...acted, ...child.acted] }
}

/** The call as hooks about its child leave it; undefined where it creates none. */
async function askAboutChild(hooks: Hooks, asking: RecordAsking, call: RecordedCall): Promise<Recorded | undefined> {
  const created = call.deferred?.child ?? call.child
  if (!created?.create) return undefined
  const { value, acted } = await askSubagentCreated(hooks, asking, created)
  const { refuse, text } = value
  return {
    call: refuse === undefined ? withText(call, created, text) : refusedCall(call.tool, call.args, refuse),
    acted,
  }
}

/** The call as hooks have answered it: nothing is run. */
function decidedCall(tool: string, { args, refuse, answer }: CallWishes): RecordedCall | undefined {
  if (refuse !== undefined) return refusedCall(tool, args, refuse)
  return answer === undefined ? undefined : { tool, args, answered: answer }
}

function refusedCall(tool: string, args: Json, why: string): RecordedCall {
  return { tool, args, refused: failure('HOOK_REFUSED', `${tool} was not run: ${why}`) }
}

/** Calls of a reply that was blocked. */
export function blockedCalls(calls: readonly RequestedCall[], why: string): readonly RecordedCall[] {
  return calls.map(({ tool, args }) => refusedCall(tool, sentArgs(args), `the turn was ended: ${why}`))
}

/** What nobody runs cannot wait: it is refused, because it was not to happen without an approval. */
function withApproval(call: RecordedCall, { approval }: CallWishes): RecordedCall {
  if (!approval || call.refused || call.hold?.why === 'person') return call
  if (call.answered !== undefined || call.asks)
    return refusedCall(call.tool, call.args, 'a hook wants it approved, and this call cannot wait for an approval')
  return { ...call, hold: { ...call.hold, ...approval } }
}

function withText(call: RecordedCall, child: ChildCall, text: string): RecordedCall {
  if (text === child.text) return call
  return call.deferred
    ? { ...call, deferred: { ...call.deferred, child: { ...call.deferred.child, text } } }
    : { ...call, child: { ...child, text } }
}

/** The call, marked where hooks are to be asked about its result. */
export function withResultHooks({ after_call: hooks }: HookSet, call: RecordedCall): RecordedCall {
  if (!hooks || call.refused || call.answered !== undefined) return call
  return hooks.some((hook) => namesTool(hook, call.tool)) ? { ...call, after: true } : call
}

/** A call that no model asks for: who does, and the key of the question. */
export interface OutsideCall {
  readonly state: ThreadState
  readonly key: string
  readonly by: Exclude<CallQuestion['by'], 'model'>
  readonly allowed: CallerContext['allowed']
}

/** A call that a caller, a schedule or a body asks for. A promise only where a function of a definition is asked. */
export function recordOutsideCall(
  definitions: CallDefinitions,
  { state, key, by, allowed }: OutsideCall,
  requested: RequestedCall,
): RecordedCall | Promise<RecordedCall> {
  const { guard } = state.lineage
  const caller: CallerContext = { thread: state, allowed, ...(guard && { guard }) }
  const { hooks, app, envs } = definitions
  const set = hooks?.of(state.agent)
  const tool = set?.before_call && allowed.has(requested.tool) ? app.tools.get(requested.tool) : undefined
  if (!hooks || !set) return recordCall(definitions, caller, requested)
  const mark = (call: RecordedCall): RecordedCall => withResultHooks(set, call)
  const checked = tool && checkArgs(tool.name, tool.args, requested.args)
  if (!tool || !checked?.ok) {
    const recorded = recordCall(definitions, caller, requested)
    return recorded instanceof Promise ? recorded.then(mark) : mark(recorded)
  }
  const asked = askBeforeCall(
    hooks,
    { state, key: `hook/${key}/before`, redactor: envs.redactor(state) },
    { tool: tool.name, args: checked.args, by, check: (args) => checkArgs(tool.name, tool.args, args) },
  )
  return asked.then(async ({ value }) => {
    const { args, block } = value
    if (block !== undefined) return refusedCall(tool.name, args, block)
    return (
      decidedCall(tool.name, value) ??
      mark(withApproval(await recordCall(definitions, caller, { tool: tool.name, args }), value))
    )
  })
}
