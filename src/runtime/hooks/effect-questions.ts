/**
 * The questions that effects ask: before a step, about the result of a call, before a turn ends. Each gives what its
 * record says. Pure but for the hooks themselves.
 */
import { mayGoOn } from '../../../actors/thread/turn/hooks.js'
import type { HookDecision } from '../../../actors/thread/decide/landings.js'
import type { ThreadState, Turn } from '../../../actors/thread/state.js'
import type { HookInput, HookResult } from '../../agent/define-hook.js'
import type { Cancel } from '../../core/async/cancel.js'
import { defined } from '../../core/defined.js'
import type { Outcome } from '../../core/effect.js'
import { SkeinError, failure } from '../../core/failure.js'
import type { AddedMessage, AskedHook } from '../../core/records/hook.js'
import type { Message } from '../../core/records/message.js'
import type { RecordedCall } from '../../core/records/record.js'
import { maskOutcome } from '../../core/redact/outcome.js'
import type { Redactor } from '../../core/redact/redact.js'
import { maskOf } from './ask-hooks.js'
import type { Hooks } from './ask-hooks.js'
import { namesTool, stopHookName } from './hook-sets.js'

/** The thread and the effect that asks for it. */
export interface EffectAsking {
  readonly state: ThreadState
  readonly turn: Turn
  readonly key: string
  readonly cancel: Cancel
  readonly redactor: Redactor | undefined
}

interface StepWishes {
  readonly hide: readonly string[]
  readonly add: readonly AddedMessage[]
  readonly block?: string
}

/** `messages`: what the model would read. */
export async function askBeforeStep(
  hooks: Hooks,
  asking: EffectAsking,
  messages: () => Promise<readonly Message[]>,
): Promise<HookDecision> {
  const { state, turn, redactor } = asking
  const mask = maskOf(redactor)
  const { value, asked, closed } = await hooks.ask<'before_step', StepWishes>({
    ...asking,
    on: 'before_step',
    hooks: hooks.of(state.agent, turn.session?.side).before_step ?? [],
    value: { hide: [], add: [] },
    input: ({ hide }) => ({
      steps: turn.steps,
      usage: turn.usage,
      messages: async () => (await messages()).filter(({ id }) => !hide.includes(id)),
    }),
    apply: ({ hide, add }, result) => ({
      hide: [...hide, ...(result.hide ?? []).map((id) => mask.text(id))],
      add: [
        ...add,
        ...[result.add ?? []].flat().map(({ role = 'user', text, once }): AddedMessage => ({
          role,
          text: mask.text(text),
          ...(once && { once: true }),
        })),
      ],
      ...defined({ block: result.block === undefined ? undefined : mask.text(result.block) }),
    }),
    isFinal: ({ block }) => block !== undefined,
  })
  const { hide, add, block = closed } = value
  return {
    asked,
    ...(hide.length > 0 && { hide }),
    ...(add.length > 0 && { add }),
    ...(block !== undefined && { block: { reason: blockReason(asked), detail: block } }),
  }
}

/** The chain ends with whoever blocks. */
function blockReason(asked: readonly AskedHook[]): 'hook_blocked' | 'stop_when' {
  return asked.at(-1)?.hook === stopHookName ? 'stop_when' : 'hook_blocked'
}

/** The result of a call, whole. */
export interface ResultAsking {
  readonly id: string
  readonly call: RecordedCall
  readonly outcome: Outcome
  readonly text: string | undefined
}

interface ResultWishes {
  readonly outcome: Outcome
  readonly text?: string
  readonly changed?: true
  readonly spoken?: true
  readonly dropped?: true
}

/** The outcome may be longer than a journal takes. */
export async function askAfterCall(
  hooks: Hooks,
  asking: EffectAsking,
  { id, call: { tool, args }, outcome, text }: ResultAsking,
): Promise<HookDecision> {
  const { state, redactor } = asking
  const mask = maskOf(redactor)
  const { value, asked, closed } = await hooks.ask<'after_call', ResultWishes>({
    ...asking,
    on: 'after_call',
    hooks: (hooks.of(state.agent, state.slots.side).after_call ?? []).filter((hook) => namesTool(hook, tool)),
    value: { outcome, ...defined({ text }) },
    input: (now): HookInput<'after_call'> => ({
      tool,
      args,
      call: id,
      outcome: now.outcome,
      ...defined({ text: now.text }),
    }),
    apply(now, { result, error, text: said, drop }) {
      if (drop) return { ...now, dropped: true }
      const given = otherOutcome({ result, error })
      const other = given && redactor ? maskOutcome(redactor, given) : given
      const spoken = said === undefined ? undefined : mask.text(said)
      if (!other && spoken === undefined) return now
      const { changed } = now
      return {
        outcome: other ?? now.outcome,
        ...defined({ text: spoken ?? (other ? undefined : now.text), changed: other ? true : changed }),
        ...(spoken !== undefined && { spoken: true }),
      }
    },
    isFinal: ({ dropped }) => dropped === true,
  })
  if (closed !== undefined) {
    const withheld = failure('HOOK_REFUSED', `the result of ${tool} is withheld: ${closed}`)
    return { asked, outcome: { ok: false, failure: withheld } }
  }
  if (value.dropped) return { asked, dropped: true }
  return {
    asked,
    ...(value.changed && { outcome: value.outcome }),
    ...(value.spoken && defined({ text: value.text })),
  }
}

function otherOutcome({ result, error }: HookResult<'after_call'>): Outcome | undefined {
  if (error !== undefined) return { ok: false, failure: failure('TOOL_FAILED', error) }
  return result === undefined ? undefined : { ok: true, value: result }
}

export async function askStop(hooks: Hooks, asking: EffectAsking): Promise<HookDecision> {
  const { state, turn, redactor } = asking
  const { stop: reason = 'completed', detail, text, output } = turn
  const isAllowed = mayGoOn(turn)
  const { value: goOn, asked } = await hooks.ask<'stop', string | undefined>({
    ...asking,
    on: 'stop',
    hooks: hooks.of(state.agent, turn.session?.side).stop ?? [],
    value: undefined,
    input: () => ({ reason, text, mayGoOn: isAllowed, ...defined({ detail, output }) }),
    apply(now, { goOn: told }) {
      if (told === undefined) return now
      if (isAllowed) return maskOf(redactor).text(told)
      throw new SkeinError('HOOK_FAILED', `the turn cannot go on (mayGoOn is false): it ends with ${reason}`)
    },
    isFinal: (told) => told !== undefined,
  })
  return { asked, ...defined({ goOn }) }
}
