/**
 * Questions about what is recorded anyway: a call before it is recorded, the child that it creates, a model's reply.
 * Each gives what the hooks want, and who wanted something; the caller makes the record of it.
 */
import type { HookInput, HookResult } from '../../agent/define-hook.js'
import type { Cancel } from '../../core/async/cancel.js'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import type { Json } from '../../core/json.js'
import type { AskedHook } from '../../core/records/hook.js'
import type { SideName } from '../../core/records/message.js'
import type { ChildCall, Hold } from '../../core/records/record.js'
import type { Redactor } from '../../core/redact/redact.js'
import type { ModelReply } from '../../models/port.js'
import { sentArgs } from '../../tools/args.js'
import type { CheckedArgs } from '../../tools/args.js'
import { maskOf } from './ask-hooks.js'
import type { Hooks, Mask } from './ask-hooks.js'
import { namesTool } from './hook-sets.js'
import type { SeenState } from './hook-thread.js'

/** The thread, and whose hooks are asked. */
export interface RecordAsking {
  readonly state: SeenState
  readonly side?: SideName
  readonly key: string
  readonly redactor: Redactor | undefined
  readonly cancel?: Cancel
}

/** A call whose args fit. */
export interface CallQuestion {
  readonly tool: string
  readonly args: Json
  readonly by: HookInput<'before_call'>['by']
  check(args: Json): CheckedArgs
}

/** What hooks want of a call: at most one of the last three. */
export interface CallWishes {
  readonly args: Json
  readonly approval?: Hold
  readonly refuse?: string
  readonly answer?: Json
  readonly block?: string
}

export interface Wishes<Value> {
  readonly value: Value
  /** Who wanted something, or failed. */
  readonly acted: readonly AskedHook[]
}

export async function askBeforeCall(
  hooks: Hooks,
  asking: RecordAsking,
  { tool, args, by, check }: CallQuestion,
): Promise<Wishes<CallWishes>> {
  const mask = maskOf(asking.redactor)
  const { value, acted, closed } = await hooks.ask<'before_call', CallWishes>({
    ...asking,
    on: 'before_call',
    hooks: (hooks.of(asking.state.agent, asking.side).before_call ?? []).filter((hook) => namesTool(hook, tool)),
    value: { args },
    input: (now) => ({ tool, args: now.args, by }),
    apply: (now, result) => ({ ...now, ...callWishes(mask, result, check) }),
    isFinal: ({ refuse, answer, block }) => refuse !== undefined || answer !== undefined || block !== undefined,
  })
  return { acted, value: closed === undefined ? value : { ...value, block: closed } }
}

function callWishes(
  mask: Mask,
  { args, refuse, answer, approval, block }: HookResult<'before_call'>,
  check: CallQuestion['check'],
): Partial<CallWishes> {
  const masked = (text: string | undefined): string | undefined => (text === undefined ? undefined : mask.text(text))
  return defined({
    args: args === undefined ? undefined : checkedArgs(check(mask.json(args))),
    approval: approval ? holdOf(mask, approval === true ? {} : approval) : undefined,
    refuse: masked(refuse),
    answer: answer === undefined ? undefined : mask.json(answer),
    block: masked(block),
  })
}

function checkedArgs(checked: CheckedArgs): Json {
  if (checked.ok) return checked.args
  throw new SkeinError('HOOK_FAILED', `it returned args that do not fit: ${checked.failure.message}`)
}

type Approval = Exclude<HookResult<'before_call'>['approval'], boolean | undefined>

function holdOf(mask: Mask, { prompt, defaults, deadline }: Approval): Hold {
  return {
    why: 'approval',
    ...defined({
      prompt: prompt === undefined ? undefined : mask.text(prompt),
      defaults: defaults === undefined ? undefined : mask.json(defaults),
      deadlineMs: deadline?.afterMs,
      atDeadline: deadline?.decision,
    }),
  }
}

interface TextWishes {
  readonly text: string
  readonly refuse?: string
}

export async function askSubagentCreated(
  hooks: Hooks,
  asking: RecordAsking,
  { agent, reference, name, text }: ChildCall,
): Promise<Wishes<TextWishes>> {
  const mask = maskOf(asking.redactor)
  const { value, acted, closed } = await hooks.ask<'subagent_created', TextWishes>({
    ...asking,
    on: 'subagent_created',
    hooks: hooks.of(asking.state.agent, asking.side).subagent_created ?? [],
    value: { text },
    input: (now) => ({ agent, reference, text: now.text, ...defined({ name }) }),
    apply: (now, result) => textWishes(mask, now, result),
    isFinal: ({ refuse }) => refuse !== undefined,
  })
  return { acted, value: closed === undefined ? value : { ...value, refuse: closed } }
}

export function textWishes(
  mask: Mask,
  now: TextWishes,
  { text, refuse }: { readonly text?: string | undefined; readonly refuse?: string | undefined },
): TextWishes {
  return {
    text: text === undefined ? now.text : mask.text(text),
    ...defined({ refuse: refuse === undefined ? undefined : mask.text(refuse) }),
  }
}

interface ReplyWishes {
  readonly reply: ModelReply
  readonly block?: string
}

/** `model`: the name that the record has. A reply that was changed loses its provider's parts: they are of another. */
export async function askAfterStep(
  hooks: Hooks,
  asking: RecordAsking,
  { reply, model }: { readonly reply: ModelReply; readonly model: string },
): Promise<Wishes<ReplyWishes>> {
  const mask = maskOf(asking.redactor)
  const { value, acted, closed } = await hooks.ask<'after_step', ReplyWishes>({
    ...asking,
    on: 'after_step',
    hooks: hooks.of(asking.state.agent, asking.side).after_step ?? [],
    value: { reply },
    input: ({ reply: { text, reasoning, calls, finish, usage } }) => ({
      text,
      calls: calls.map(({ tool, args }) => ({ tool, args: sentArgs(args) })),
      model,
      finish,
      usage,
      ...defined({ reasoning }),
    }),
    apply: ({ reply: now }, { text, calls, block }) => ({
      reply: text === undefined && calls === undefined ? now : changedReply(now, mask, { text, calls }),
      ...defined({ block: block === undefined ? undefined : mask.text(block) }),
    }),
    isFinal: ({ block }) => block !== undefined,
  })
  return { acted, value: closed === undefined ? value : { ...value, block: closed } }
}

function changedReply(
  { kept: _, reasoning: __, ...now }: ModelReply,
  mask: Mask,
  { text, calls }: Pick<HookResult<'after_step'>, 'text' | 'calls'>,
): ModelReply {
  return {
    ...now,
    ...defined({
      text: text === undefined ? undefined : mask.text(text),
      calls: calls?.map(({ tool, args }) => ({ tool: mask.text(tool), args: mask.json(args) })),
    }),
  }
}
