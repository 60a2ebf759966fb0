/**
 * The books of a tree with a budget, at every one of its commits, and when it goes on after being cut off there: what
 * is spent, left, reserved and under way adds up to what the root was given.
 */
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import type { Store } from '../../src/backend/port.js'
import { changeAmounts, toAmounts } from '../../src/core/budget.js'
import type { Budget } from '../../src/core/budget.js'
import { SkeinError, isSkeinError } from '../../src/core/failure.js'
import { manualClock } from '../../src/core/manual-clock.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { createSkein } from '../../src/runtime/skein.js'
import { importWorker } from '../../src/tools/worker-url.js'
import type { Skein } from '../../src/runtime/skein.js'
import { wakeWhole } from '../../src/runtime/journal/wake.js'
import { only, readBooks } from '../../src/sim/books.js'
import { looseTool } from '../helpers/app.js'
import { turn } from '../helpers/deferred.js'
import { apart, tapped } from '../helpers/tap.js'
import type { Tap } from '../helpers/tap.js'

/** What a thread does: what each reply costs, the children that it calls, and how it ends. */
interface Plan {
  readonly tokens: number
  readonly usd: number
  readonly looks: number
  readonly fails?: boolean
  readonly below: readonly (Plan & { readonly as: 'node' | 'loose' | 'keeper' })[]
}

/** Every agent does what its message says. */
function createApp(): readonly Definition[] {
  const model = scriptedModel(
    ({ messages, step }) => {
      const said = messages.findLast(({ role, silent }) => role === 'user' && !silent)?.text ?? ''
      if (!said.startsWith('{')) return 'noted'
      const { tokens, usd, looks, fails, below }: Plan = JSON.parse(said)
      const usage = { inputTokens: tokens, outputTokens: 1, costUsd: usd }
      if (step > 0) return fails ? { error: 'as planned' } : { text: 'done', usage }
      const calls = below.map(({ as, ...plan }) => {
        const message = JSON.stringify(plan)
        return as === 'keeper'
          ? { tool: 'subagent_create', args: { agent: as, name: 'K', message } }
          : { tool: as, args: { message } }
      })
      return {
        calls: [...Array.from({ length: looks }, () => ({ tool: 'look', args: {} })), ...calls],
        text: 'so',
        usage,
      }
    },
    { record: false },
  )
  const tools = [
    'look',
    { name: 'node' },
    { name: 'loose', blocking: false, supervision: { strategy: 'one_for_one' as const, maxRestarts: 1 } },
    {
      name: 'keeper',
      resumable: { receives_messages: 'side_a' as const, parentCommunication: 'explicit' as const },
      blocking: false,
      budget: { tokens: 40 },
    },
  ]
  return [
    looseTool('look', () => 'seen'),
    defineModel({ name: 'm', model, maxRetries: 0 }),
    definePrompt({ name: 'p', prompt: 'x', model: 'm', tools }),
    ...['node', 'loose', 'keeper'].map((name) =>
      defineAgent({ name, type: 'ai_human' as const, sideA: { prompt: 'p' }, exposeAsTool: true }),
    ),
  ]
}

const limits = { maxParallelChildren: 2, maxDepth: 4 }

interface Case {
  readonly plan: Plan
  readonly budget: Budget
  /** More is granted on the way, to the root and to children. */
  readonly grants?: true
}

/** Runs until the tree rests, or until the store takes no more; the books are looked at after every commit. */
async function live(source: Store, { plan, budget, grants }: Case, commits = Infinity): Promise<number> {
  let taken = 0
  const backend = await source.open('client')
  const given = toAmounts(budget)
  const wrong: unknown[] = []
  const check = async (): Promise<void> => {
    const after = taken
    const { total, ofRoot, threads, granted } = await readBooks(backend, 'root')
    const all = changeAmounts(given, granted)
    if (threads > 0 && !isDeepStrictEqual([only(given, total), only(given, ofRoot)], [all, all]))
      wrong.push({ after, total, ofRoot })
  }
  const tap: Tap = {
    async commit(_, go) {
      if (taken >= commits) throw new SkeinError('STORE_FAILED', 'the power is gone')
      taken++
      const result = await go()
      await check()
      return result
    },
  }
  const clock = manualClock(1_700_000_000_000)
  const skein = await createSkein({
    app: createApp(),
    backend: tapped(source, tap),
    clock,
    limits,
    warn: () => undefined,
  })
  const begun = (async () =>
    (await skein.threads.create({ agent: 'node', id: 'root', budget }))
      .send(JSON.stringify(plan), { id: 'm' })
      .accepted())()
  begun.catch(() => undefined) // where the power is gone before
  let rounds = 0
  for (let quietTurns = 0, before = -1; quietTurns < 30; await turn()) {
    if (grants && rounds < 3 && taken > rounds * 8) {
      rounds++
      grantSome(skein)
    }
    quietTurns = taken === before ? quietTurns + 1 : 0
    before = taken
  }
  const closed = skein.close()
  clock.advance(60_000)
  await closed
  await check()
  expect(wrong).toEqual([])
  return taken
}

/** Whoever is there gets some more; one that can take nothing refuses. */
function grantSome(skein: Skein): void {
  const all = async (): Promise<void> => {
    for (const { thread } of (await skein.threads.list({ root: 'root' })).threads) {
      const handle = await skein.threads.get(thread)
      await handle.grant({ tokens: 7 }, { resume: true }).catch((thrown: unknown) => {
        if (!isSkeinError(thrown)) throw thrown
      })
    }
  }
  all().catch(() => undefined) // where the power is gone before
}

const leaf = (tokens: number): Plan => ({ tokens, usd: 0.001, looks: 1, below: [] })
const family: Case = {
  budget: { tokens: 400, costUsd: 0.5, toolCalls: 40, steps: 30 },
  plan: {
    tokens: 10,
    usd: 0.01,
    looks: 1,
    below: [
      {
        as: 'node',
        tokens: 5,
        usd: 0,
        looks: 0,
        below: [
          { as: 'node', ...leaf(3) },
          { as: 'loose', ...leaf(4) },
        ],
      },
      { as: 'loose', ...leaf(7), fails: true },
      { as: 'keeper', ...leaf(9) },
      { as: 'node', ...leaf(500) },
      { as: 'node', ...leaf(2) },
    ],
  },
}

// A life is over when nothing is committed for some turns of the event loop; to load what runs bodies takes longer.
beforeAll(() => importWorker('body/invoke'))

describe('the books of a tree', () => {
  async function cutEverywhere(fresh: () => Store): Promise<number> {
    const all = await live(fresh(), family)
    for (let commits = 0; commits < all; commits++) {
      const source = fresh()
      await live(source, family, commits)
      await live(source, family)
      const backend = await source.open('client')
      const { spent, threads } = await readBooks(backend, 'root')
      const { state } = await wakeWhole(backend, 'root')
      // At the end nothing is reserved, and the root knows of all that was spent.
      expect(state.budget?.reserved, `after ${commits} commits`).toEqual({
        tokens: 0,
        nanoUsd: 0,
        toolCalls: 0,
        steps: 0,
      })
      expect(threads).toBeGreaterThan(4)
      expect(state.budget?.left).toEqual(changeAmounts(toAmounts(family.budget), spent, -1))
    }
    return all
  }

  test('L2, BG1: add up after every commit, wherever it is cut off and goes on', async () => {
    expect(await cutEverywhere(() => apart(memory()))).toBeGreaterThan(20)
    expect(await cutEverywhere(memory)).toBeGreaterThan(8)
  })

  test('L2, BG1, GT2: add up after every commit, also where more is granted on the way, wherever it is cut off', async () => {
    const raised: Case = { ...family, budget: { ...family.budget, tokens: 60 }, grants: true }
    const all = await live(apart(memory()), raised)
    expect(all).toBeGreaterThan(20)
    for (let commits = 1; commits < all; commits += 5) {
      // In turn: threads that are written together, and each by itself.
      const source = commits % 2 === 0 ? memory() : apart(memory())
      await live(source, raised, commits)
      await live(source, raised)
      const { state } = await wakeWhole(await source.open('client'), 'root')
      expect(state.budget?.reserved, `after ${commits} commits`).toEqual({
        tokens: 0,
        nanoUsd: 0,
        toolCalls: 0,
        steps: 0,
      })
    }
  })

  const plans: fc.Arbitrary<Plan> = fc.letrec<{ plan: Plan }>((tie) => ({
    plan: fc.record(
      {
        tokens: fc.nat(60),
        usd: fc.constantFrom(0, 0.000_000_001, 0.01, 1 / 3),
        looks: fc.nat(2),
        fails: fc.boolean(),
        below: fc.oneof(
          { depthSize: 'small' },
          fc.constant([]),
          fc.array(
            fc
              .tuple(tie('plan'), fc.constantFrom('node' as const, 'loose' as const, 'keeper' as const))
              .map(([plan, as]) => ({ ...plan, as })),
            { maxLength: 3 },
          ),
        ),
      },
      { requiredKeys: ['tokens', 'usd', 'looks', 'below'] },
    ),
  })).plan
  const budgets: fc.Arbitrary<Budget> = fc.record(
    { tokens: fc.nat(400), costUsd: fc.constantFrom(0, 0.1, 1), toolCalls: fc.nat(12), steps: fc.nat(15) },
    { requiredKeys: [] },
  )

  test('L2, BG1, BG2: add up for any tree and any budget, and after a cut anywhere; at rest nothing is reserved', async () => {
    await fc.assert(
      fc.asyncProperty(plans, budgets, fc.nat(40), async (plan, budget, commits) => {
        const source = memory()
        await live(source, { plan, budget }, commits)
        await live(source, { plan, budget })
        const { state } = await wakeWhole(await source.open('client'), 'root')
        for (const amount of Object.values(state.budget?.reserved ?? {})) expect(amount).toBe(0)
      }),
      { numRuns: 60 },
    )
  })
})
