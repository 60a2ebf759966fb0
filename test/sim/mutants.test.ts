/**
 * The simulator is shown to fail: known bugs, each behind a switch that only these tests set, are found within 200
 * seeds; without the switch the same app passes.
 */
import { afterEach, expect, it } from 'vitest'
import { mutants } from '../../src/core/mutants.js'
import type { SimulationFailure } from '../../src/sim/simulation-failure.js'
import { effects } from './apps/effects.js'
import { files } from './apps/files.js'
import { tree } from './apps/tree.js'
import type { SimulatedApp } from './simulated-app.js'

const most = 200

afterEach(() => {
  for (const name of Object.keys(mutants) as (keyof typeof mutants)[]) mutants[name] = false
})

/** The first seed that fails. */
async function firstFailure(app: SimulatedApp, mutant: keyof typeof mutants): Promise<SimulationFailure> {
  const simulation = await app.prepare()
  mutants[mutant] = true
  for (let seed = 1; seed <= most; seed++) {
    const failure = await simulation.trySeed(seed)
    if (!failure) continue
    console.log(`${mutant} is found with seed ${seed}: ${failure.broken[0]?.split('\n')[0]}`)
    return failure
  }
  throw new Error(`${mutant} is not found within ${most} seeds`)
}

/** It is found, and was the switch: without it the same seed passes. */
async function isFound(app: SimulatedApp, mutant: keyof typeof mutants): Promise<string> {
  const { seed = Infinity, broken } = await firstFailure(app, mutant)
  mutants[mutant] = false
  expect(await (await app.prepare()).trySeed(seed)).toBeUndefined()
  return broken.join('\n')
}

it('B8, T4: a model that is asked before an outcome is durable is found within 200 seeds', async () => {
  expect(await isFound(effects, 'asksEarly')).toContain('before that was in its journal')
})

it('B8, S13: a child that is heard twice is found within 200 seeds', async () => {
  expect(await isFound(tree, 'hearsTwice')).toContain('it heard report')
})

it('B8, T3: calls that are settled out of call order are found within 200 seeds', async () => {
  expect(await isFound(files, 'settlesUnordered')).toContain('top')
})
