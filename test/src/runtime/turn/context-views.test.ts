/** L3: who reads what of a long conversation: sides, prompts that leave out the past, handoffs, and people who look. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createState } from '../../../../actors/thread/state.js'
import type { ThreadState } from '../../../../actors/thread/state.js'
import { isTooLong, noteGrowth } from '../../../../actors/thread/turn/context.js'
import { startTurn } from '../../../../actors/thread/turn/turn.js'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, Prompt } from '../../../../src/agent/define.js'
import { createApp } from '../../../../src/agent/app.js'
import type { Message } from '../../../../src/core/records/message.js'
import type { ModelRequest } from '../../../../src/models/port.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { ScriptedReply } from '../../../../src/models/scripted.js'
import { planReduction, reductionOf, wantsSummary } from '../../../../src/runtime/resolve/context-plan.js'
import { windowOf } from '../../../../src/runtime/resolve/prompt-window.js'
import { looseTool } from '../../../helpers/app.js'
import { pairApp } from '../../../helpers/dual.js'
import { times } from '../../../helpers/soak.js'
import { onEveryStore } from '../../../helpers/world.js'

const look = looseTool('look', (_, { says }) => String(says))

type Script = (request: ModelRequest) => ScriptedReply

function onePrompt(script: Script, prompt: Partial<Prompt> = {}) {
  const model = scriptedModel(script)
  const app: readonly Definition[] = [
    look,
    defineModel({ name: 'm', model, contextTokens: 2_000, maxRetries: 0 }),
    definePrompt({ name: 'p', prompt: 'x', model: 'm', tools: ['look'], ...prompt }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p', maxSteps: 1_000 } }),
  ]
  return { app, model }
}

onEveryStore('views of a long conversation', (world) => {
  it('L3, S11: each side has a view of its own, and nothing of the other one is in its summaries', async () => {
    const speaker =
      (own: string): Script =>
      ({ messages, summary, step }) => {
        const read = JSON.stringify(messages)
        expect(read).not.toContain(own === 'a' ? 'only for b' : 'only for a')
        if (summary) return `summary of ${own}`
        // Of its own calls it reads the results, of the other's none.
        return step % 4 === 3
          ? `words of ${own} ${'.'.repeat(100)}`
          : { calls: [{ tool: 'look', args: { says: `only for ${own} `.padEnd(450, own) } }] }
      }
    const { app, models } = pairApp({ a: speaker('a'), b: speaker('b'), tools: [look], maxSessionTurns: 8 })
    const limited = app.map((definition) =>
      definition.kind === 'model' ? { ...definition, contextTokens: 2_000 } : definition,
    )
    const skein = await world.open(limited)
    const thread = await skein.threads.create({ agent: 'pair', id: 't' })
    await thread.send('begin').result()
    const reduced: string[] = []
    for await (const event of thread.events({ until: 'now' }))
      if (event.type === 'context.reduced' && event.summary) reduced.push(`${event.of}: ${event.summary.text}`)
    expect(new Set(reduced.map((line) => line.slice(0, 1)))).toEqual(new Set(['a', 'b']))
    for (const line of reduced) expect(line).toMatch(/^(a: .*summary of a|b: .*summary of b)$/s)
    for (const side of ['a', 'b'] as const) {
      const summaries = models[side].requests
        .map(({ messages }) => messages[0]?.text ?? '')
        .filter((text) => text.startsWith('<summary>'))
      expect(summaries.length).toBeGreaterThan(0)
      for (const text of summaries) expect(text).toContain(`summary of ${side}`)
      const context = await thread.context({ side })
      expect(context.side).toBe(side)
      expect(JSON.stringify(context.messages)).not.toContain(side === 'a' ? 'only for b' : 'only for a')
      expect(context.leftOut.some(({ why }) => why === 'summarised')).toBe(true)
    }
    expect((await thread.context()).side).toBe('a')
  })

  it.each<[string, Partial<Prompt>, boolean]>([
    ['reads the past', {}, true],
    ['reads its words alone', { includePastTools: false }, true],
    ['reads its calls alone', { includeChat: false }, false],
    ['reads nothing of it', { includeChat: false, includePastTools: false }, false],
  ])('L3, D5: a summary of an earlier turn is read by a prompt that %s', async (_, flags, isRead) => {
    const script: Script = ({ step, summary, messages }) => {
      if (summary) return 'the summary'
      if (messages.findLast(({ role }) => role === 'user')?.text === 'second') return 'ok'
      return step < 20 ? { calls: [{ tool: 'look', args: { says: 'x'.repeat(450 + step) } }] } : 'read'
    }
    const { app, model } = onePrompt(script, flags)
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('first').text()
    const summarised = model.requests.filter(({ messages }) => messages[0]?.text.startsWith('<summary>'))
    expect(summarised.length).toBeGreaterThan(0)
    await thread.send('second').text()
    const last = model.requests.at(-1)?.messages ?? []
    expect(last.some(({ text }) => text.startsWith('<summary>'))).toBe(isRead)
    expect(last.at(-1)?.text).toBe('second')
    expect(last.some(({ text }) => text === 'first')).toBe(false)
    const { leftOut } = await thread.context()
    const reasons = new Set(leftOut.map(({ why }) => why))
    expect(reasons.has('past')).toBe(flags.includeChat === false || flags.includePastTools === false)
  })

  it('L3, S6: an agent that takes over and leaves out the past begins a view of its own', async () => {
    const script: Script = ({ step, summary, system, messages }) => {
      if (summary) return 'the summary'
      if (system === 'other') return JSON.stringify(messages).includes('<summary>') ? 'it reads the past' : 'taken over'
      if (messages.some(({ text }) => text === 'hand over')) return { calls: [{ tool: 'other', args: {} }] }
      return step < 20 ? { calls: [{ tool: 'look', args: { says: 'x'.repeat(450 + step) } }] } : 'read'
    }
    const { app } = onePrompt(script, { tools: ['look', 'other'] })
    const other = [
      definePrompt({ name: 'q', prompt: 'other', model: 'm', includeChat: false, includePastTools: false }),
      defineAgent({
        name: 'other',
        type: 'ai_human',
        exposeAsTool: true,
        toolDescription: 'x',
        sideA: { prompt: 'q' },
      }),
    ]
    const skein = await world.open([...app, ...other])
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('first').text()
    expect(await thread.send('hand over').text()).toBe('taken over')
    expect(await thread.send('again').text()).toBe('taken over')
  })

  it('L3: what was left out is told with its reason: archived, summarised, hidden', async () => {
    const script: Script = ({ step, summary }) => {
      if (summary) return 'the summary'
      return step < 14 ? { calls: [{ tool: 'look', args: { says: 'x'.repeat(step % 2 === 0 ? 450 : 520) } }] } : 'read'
    }
    const { app, model } = onePrompt(script, { context: { triggerTokens: 1_500, targetTokens: 700 } })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.inject('to be removed', { id: 'gone' })
    await thread.send('first').text()
    await thread.inject('and this', { id: 'gone_too' })
    await thread.remove('gone_too')
    const context = await thread.context()
    expect(context.limit?.nextTokens).toBeGreaterThanOrEqual(1_500)
    expect(context.messages[0]?.text).toMatch(/^<summary>\nThe request: first\n\nthe summary\n<\/summary>$/)
    const of = (why: string) => context.leftOut.filter((each) => each.why === why)
    expect(of('summarised').map(({ id }) => id)).toContain('gone')
    expect(of('hidden').map(({ id }) => id)).toEqual(['gone_too'])
    // What was told is what the model is shown with the next message.
    const known = model.requests.length
    await thread.send('next').text()
    const asked = model.requests[known]?.messages.map(({ text }) => text)
    const told = context.messages.map(({ text }) => text)
    expect(asked?.slice(0, told.length)).toEqual(told)
    await expect(thread.context({ side: 'c' as never })).rejects.toThrow(/context/)
  })
})

describe('the form of a context', () => {
  const model = defineModel({ name: 'm', model: scriptedModel([]) })
  const app = (context: Prompt['context'], contextTokens?: number) =>
    createApp(
      [
        { ...model, ...(contextTokens !== undefined && { contextTokens }) },
        definePrompt({ name: 'p', prompt: 'x', model: 'm', ...(context !== undefined && { context }) }),
      ],
      'test',
    )

  it('L3: a limit that cannot be is refused, with what to do', () => {
    expect(() => app({})).toThrow(/neither that says its triggerTokens nor the model m its contextTokens/)
    expect(() => app({ triggerTokens: 100, targetTokens: 100 })).toThrow(/targetTokens must be less than triggerTokens/)
    expect(() => app({ targetTokens: 5_000 }, 4_000)).toThrow(/targetTokens 5000, which is not less than .* 3000/)
    expect(() => app({ triggerTokens: 1_000, summary: { model: 'n' } })).toThrow(
      /summaries of the model "n"; there are: m/,
    )
    expect(() => app(undefined, 10)).toThrow(/a model takes 1,000 tokens at least/)
    expect(() => app({ triggerToken: 5 } as never, 4_000)).toThrow(/did you mean triggerTokens\?/)
    expect(() => app({ triggerTokens: 1_000 })).not.toThrow()
    expect(() => app(false)).not.toThrow()
  })
})

describe('a reduction', () => {
  const batch = fc.record({
    says: fc.integer({ min: 0, max: 3_000 }),
    results: fc.array(fc.integer({ min: 0, max: 6_000 }), { maxLength: 4 }),
    user: fc.option(fc.integer({ min: 1, max: 2_000 })),
  })
  const limits = fc.record({
    trigger: fc.integer({ min: 400, max: 3_000 }),
    share: fc.double({ min: 0.1, max: 0.9, noNaN: true }),
  })

  function messagesOf(
    { says, results, user }: { says: number; results: number[]; user: number | null },
    step: number,
  ): Message[] {
    const calls = results.map((_, index) => ({ id: `call_${step}_${index}`, tool: 'look', args: {} }))
    return [
      { id: `step_${step}`, role: 'assistant', text: 's'.repeat(says), at: 1, ...(calls.length > 0 && { calls }) },
      ...results.map((length, index): Message => ({
        id: `result_${step}_${index}`,
        role: 'tool',
        text: 'r'.repeat(length),
        at: 1,
        call: `call_${step}_${index}`,
        tool: 'look',
      })),
      ...(user === null ? [] : [{ id: `user_${step}`, role: 'user' as const, text: 'u'.repeat(user), at: 1 }]),
    ]
  }

  /** After the second reduction, whose summary fails, there is room for the markers of the first. */
  const archivedTwice = [
    { says: 0, results: [39, 1_000], user: 1_495 },
    { says: 8, results: [1_000, 2_259], user: 264 },
    { says: 1_682, results: [], user: 1_811 },
    { says: 499, results: [4_513, 3_222], user: null },
    { says: 9, results: [1_920], user: null },
    { says: 638, results: [], user: 734 },
  ]

  it('L3: the newest batch is never archived or summarised, whatever the sizes; calls keep their results', () => {
    fc.assert(
      fc.property(
        fc.array(batch, { minLength: 1, maxLength: 12 }),
        limits,
        fc.boolean(),
        (batches, { trigger, share }, fails) => {
          const target = Math.round(trigger * share)
          const state: ThreadState = createState('t')
          startTurn(state, {
            type: 'turn.started',
            run: 'r',
            rules: { a: { context: { of: 'a', trigger, target } } },
            at: 1,
          })
          state.transcript.items.push({ id: 'u', role: 'user', text: 'go', at: 1 })
          noteGrowth(state, 0)
          let before: readonly Message[] = []
          batches.forEach((each, step) => {
            const added = messagesOf(each, step)
            const known = state.transcript.items.length
            state.transcript.items.push(...added)
            noteGrowth(state, known)
            if (isTooLong(state)) reduce(state, fails)
            const window = windowOf(state, {})
            // All of the newest batch, as it is.
            expect(window.slice(-added.length)).toEqual(added)
            checkPairs(window)
            if (!isTooLong(state)) before = window
            expect(before.length).toBeGreaterThan(0)
          })
        },
      ),
      { numRuns: times(200, 5_000), examples: [[archivedTwice, { trigger: 2_396, share: 0.833 }, true]] },
    )
  })

  function reduce(state: ThreadState, fails: boolean): void {
    const plan = planReduction(state, {})
    if (!plan) throw new Error('nothing limits it')
    const summary = { text: 'in short', model: 'm', usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 } }
    const reduced = reductionOf(plan, 1, wantsSummary(plan) && !fails ? { summary } : {})
    expect(reduced.next).toBeGreaterThan(reduced.size)
    expect(reduced.next).toBeGreaterThanOrEqual(plan.rule.trigger)
    const view = state.contexts['a']
    if (!view) throw new Error('no view')
    // CX1: both numbers only grow.
    expect(reduced.archived ?? Infinity).toBeGreaterThanOrEqual(view.archived)
    Object.assign(view, {
      size: reduced.size,
      grown: 0,
      next: reduced.next,
      archived: reduced.archived ?? view.archived,
    })
    if (reduced.summary) view.summary = { ...reduced.summary, at: 1 }
  }

  /** M2: every call is followed by its results, and no result stands without its call. */
  function checkPairs(window: readonly Message[]): void {
    const asked = window.flatMap(({ calls = [], id }) => [
      ...(calls.length > 0 ? [id] : []),
      ...calls.map((each) => each.id),
    ])
    const answered = window.flatMap(({ role, call, calls, id }) => {
      if (role === 'tool') return [call ?? '']
      return calls ? [id] : []
    })
    expect(answered).toEqual(asked)
  }
})
