/** What `simulate` says of apps that are wrong, and of code that it cannot control. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import assert from 'node:assert/strict'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../src/agent/define.js'
import type { Definition, ToolDefinition } from '../../src/agent/define.js'
import { checkInbox } from '../../src/sim/checks.js'
import { simulate } from '../../src/sim/open.js'
import { prepareSimulation } from '../../src/sim/simulate.js'
import { SimulationFailure } from '../../src/sim/simulation-failure.js'
import type { SimContext } from '../../src/sim/run.js'
import type { World } from '../../src/sim/world.js'
import { resultsOf, team } from './team.js'

/** An agent that calls one tool and says what came of it. */
function clerk(tool: Partial<ToolDefinition> & Pick<ToolDefinition, 'execute'>): readonly Definition[] {
  return team(
    {
      clerk: {
        script: ({ messages, step }) =>
          step > 0 ? resultsOf(messages).join() : { calls: [{ tool: 'act', args: { euros: 5 } }] },
        tools: ['act'],
      },
    },
    [
      defineTool({
        name: 'act',
        description: 'Acts',
        args: z.object({ euros: z.number() }),
        ...tool,
      } as ToolDefinition),
    ],
  )
}

const scenario = async ({ skein }: Pick<SimContext<never>, 'skein'>): Promise<string> =>
  (await skein.threads.create({ agent: 'clerk', id: 'desk' })).send('go', { id: 'm' }).text()

async function failureOf(run: Promise<unknown>): Promise<SimulationFailure> {
  const thrown: unknown = await run.then(
    () => assert.fail('it passes'),
    (why: unknown) => why,
  )
  if (thrown instanceof SimulationFailure) return thrown
  throw thrown
}

/** Pays again when the answer is lost, with another key: the bank pays twice. */
const forgetful = (world: World<'bank'>): readonly Definition[] =>
  clerk({
    sideEffect: true,
    onUnknown: 'retry',
    retry: { maxRetries: 5, backoffMs: 10 },
    execute: async (_state, { euros }) => world.bank({ euros: z.number().parse(euros) }),
  })

const paid = {
  app: forgetful,
  services: { bank: { loses: 0.3 } },
  scenario,
  check: ({ world }: SimContext<'bank'>) => assert.equal(world.ledger('bank').entries.length, 1),
}

it('B8: a failing seed is printed with what went wrong, and fails in the same way again', async () => {
  const first = await failureOf(simulate({ ...paid, seeds: 50 }))
  expect(first.message).toContain(`seed ${first.seed} fails after`)
  expect(first.message).toContain('The last commits:')
  expect(first.message).toContain(`Repeat it with SKEIN_SEED=${first.seed}.`)
  const again = await failureOf(simulate({ ...paid, seeds: [first.seed ?? 0] }))
  expect(again.message).toBe(first.message)
  process.env['SKEIN_SEED'] = String(first.seed)
  onTestFinished(() => void delete process.env['SKEIN_SEED'])
  expect((await failureOf(simulate({ ...paid, seeds: 50 }))).message).toBe(first.message)
})

it('B8: what services refused and whose answers they lost is counted among the faults', async () => {
  const report = async (bank: { loses?: number; refuses?: number }) =>
    (await simulate({ ...paid, services: { bank }, seeds: 10, faults: 'none', check: () => undefined })).faults
  expect((await report({ loses: 0.3 })).services).toBeGreaterThan(0)
  expect((await report({ refuses: 0.3 })).services).toBeGreaterThan(0)
  expect(await report({})).toEqual({})
})

it('B8: a host dies at any commit, before or after it is applied; the clock is virtual', async () => {
  const sleepy = (world: World): readonly Definition[] =>
    clerk({
      sideEffect: false,
      execute: async () => {
        await world.sleep(120_000)
        return 'rested'
      },
    })
  const simulation = await prepareSimulation({ app: sleepy, scenario, faults: { crash: 1 } })
  const deaths = new Set<string>()
  const applied = new Set<number>()
  for (let seed = 1; seed <= 40; seed++) {
    const { broken, faults, extent, virtualMs } = await simulation.run(seed)
    expect(broken).toEqual([])
    expect(virtualMs).toBeGreaterThan(120_000)
    for (const { what } of faults) deaths.add(what.replace(/^.*commit/, 'commit'))
    applied.add(extent.commits)
  }
  expect([...deaths].toSorted()).toEqual([0, 1, 3, 4, 5].map((record) => `commit to desk after record ${record}`))
  expect(applied.size).toBeGreaterThan(1)
})

it('B8: a body that waits for something real is told by name, with its thread', async () => {
  const script = fileURLToPath(new URL('./fixtures/real-wait.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [script])
  expect(stdout).toContain('tool act in thread desk waits for something outside the simulation (Timeout)')
})

it('B8: a body that never ends is told by name, with its thread', async () => {
  const endless = clerk({ sideEffect: false, timeoutMs: 10_000_000, execute: () => new Promise(() => undefined) })
  const { message } = await failureOf(simulate({ app: endless, scenario, seeds: 1 }))
  expect(message).toContain('it never came to an end')
  expect(message).toContain('thread desk is acting and wants step/1/call/0')
  expect(message).toContain('tool act in thread desk has not ended')
})

it('B8: an error that nobody handles fails its seed, and no listener of the test runner hears it', async () => {
  let runs = 0
  const careless = clerk({
    sideEffect: false,
    execute: async () => {
      if (++runs > 3) void Promise.reject(new Error('nobody looks'))
      return 'done'
    },
  })
  const { seed, message } = await failureOf(simulate({ app: careless, scenario, faults: 'none', seeds: [7, 8, 9] }))
  expect(seed).toBe(8)
  expect(message).toContain('an error that nobody handles: Error: nobody looks')
})

it('B8: an app that fails without any fault is said to, and needs no seed', async () => {
  const { seed, message } = await failureOf(
    simulate({ app: clerk({ execute: async () => 'x' }), scenario: () => Promise.reject(new Error('at once')) }),
  )
  expect(seed).toBeUndefined()
  expect(message).toContain('the app fails after')
})

it('B8: the inbox is compared with what threads wait for', () => {
  const final = { threads: new Map(), unreadable: [] }
  expect(checkInbox([], final)).toEqual([])
  expect(checkInbox([{ id: 'a/call_1_0' }], final)).toEqual(['the inbox has a/call_1_0, and threads wait for nothing'])
})

it('B8: every kind of fault happens, and the report counts it', async () => {
  const { faults } = await simulate({ ...paid, check: () => undefined, seeds: 60 })
  const kinds = ['crash', 'pause', 'cut', 'leave', 'disk', 'stores', 'signals', 'mail', 'models'] as const
  for (const kind of kinds) expect(faults[kind], kind).toBeGreaterThan(0)
})
