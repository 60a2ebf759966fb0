/** Swarms lived through with everything going wrong: seeds that ever failed, and the first ones. */
import assert from 'node:assert/strict'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { budgets } from './apps/budgets.js'
import { context } from './apps/context.js'
import { effects } from './apps/effects.js'
import { files } from './apps/files.js'
import { hooks } from './apps/hooks.js'
import { hosts } from './apps/hosts.js'
import { loop } from './apps/loop.js'
import { people } from './apps/people.js'
import { travel } from './apps/travel.js'
import { tree } from './apps/tree.js'
import { unknown } from './apps/unknown.js'
import { seedsOf } from './seeds.js'

/** XState warns when a thread that has left its host is told of a record: it would have decided something. */
beforeEach(() => {
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  onTestFinished(() => {
    const { calls } = warned.mock
    warned.mockRestore()
    assert.deepEqual(calls, [])
  })
})

it('B8: no payment is made twice or lost, whatever dies', async () => {
  const report = await effects.simulate(seedsOf('effects'))
  expect(report.interleavings).toBe(report.seeds)
})

it('B8, S13, B5: a tree of children that fail, stay and report ends the same, whatever dies', async () => {
  const report = await tree.simulate(seedsOf('tree'))
  expect(report.restartedChildren).toBeGreaterThan(0)
})

it('B8, T3, B3: parallel calls and merged forks leave the files that one after another would, whatever dies', async () => {
  const report = await files.simulate(seedsOf('files'))
  expect(report.staleRuns).toBeGreaterThan(0)
})

it('B8, A1, A4: every decision is taken once and none is lost, whatever dies', async () => {
  const report = await people.simulate(seedsOf('people'))
  expect(report.takeOvers).toBeGreaterThan(0)
})

it('B8, L2, F3: budgets add up, secrets stay sealed and nothing is measured twice, whatever dies', async () => {
  const report = await budgets.simulate(seedsOf('budgets'))
  expect(report.retriedCalls).toBeGreaterThan(0)
})

it('B8, B4, P4: a forked tree ends as its source did, and what is undone is undone once, whatever dies', async () => {
  const report = await travel.simulate(seedsOf('travel', Number(process.env['SEEDS'] ?? 6)))
  expect(report.takeOvers).toBeGreaterThan(0)
})

it('B8: hosts that leave in good order and join again take nothing with them', async () => {
  const report = await hosts.simulate(seedsOf('hosts'))
  expect(report.faults.leave).toBeGreaterThan(0)
})

it('B8, K3: hooks at all points decide the same, and each question is one question, whatever dies', async () => {
  const report = await hooks.simulate(seedsOf('hooks'))
  expect(report.takeOvers).toBeGreaterThan(0)
})

it('B8, L3: a reader whose context is short reads the same, archives the same and pays the same, whatever dies', async () => {
  const report = await context.simulate(seedsOf('context'))
  expect(report.retriedCalls).toBeGreaterThan(0)
})

it('B8, K3, L3, L4, R3: hooks, contexts and stop rules of one turn come to the same, whatever dies', async () => {
  const report = await loop.simulate(seedsOf('loop'))
  expect(report.takeOvers).toBeGreaterThan(0)
})

it('B8, T10: an effect that cannot be repeated is told, found out, asked about or repeated, whatever dies', async () => {
  const report = await unknown.simulate(seedsOf('unknown'))
  expect(report.unknownEffects).toBeGreaterThan(0)
  expect(report.receipts).toBeGreaterThan(0)
})
