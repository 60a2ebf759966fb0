/** Reconcile on its own: what it starts, what it holds back, what it ends. */
import { describe, expect, it } from 'vitest'
import { createState } from '../../../../actors/thread/state.js'
import type { Signals } from '../../../../src/backend/port.js'
import { LoopShare } from '../../../../src/core/async/loop-share.js'
import { nextTurn } from '../../../../src/core/async/next-turn.js'
import type { Effect } from '../../../../src/core/effect.js'
import { Reconciler } from '../../../../src/runtime/resident/reconcile.js'
import type { EffectRunner, EffectThread } from '../../../../src/runtime/resident/reconcile.js'

const call = (index: number, step = 1): Effect => ({ kind: 'call', key: `step/${step}/call/${index}`, step, index })
const model = (step: number): Effect => ({ kind: 'model', key: `step/${step}/model`, step })
const deadline: Effect = { kind: 'deadline', key: 'deadline/turn/r', at: 5 }

function stage(maxParallelTools = 2) {
  const log: string[] = []
  const landed: string[] = []
  /** Lands the effect of that key, and says whether its outcome counted. */
  const done = new Map<string, () => boolean>()
  const shut = new Set<string>()
  const runner: EffectRunner = {
    loop: new LoopShare(),
    start({ key }, owner) {
      log.push(`start ${key}`)
      done.set(key, () => {
        const before = landed.length
        owner.land({ kind: 'deadline', key })
        return landed.length > before
      })
      return { abort: (reason) => void log.push(`abort ${key}: ${reason}`) }
    },
    ready: ({ key }) => !shut.has(key),
  }
  const thread: EffectThread = {
    state: createState('t'),
    hydrated: () => Promise.resolve(),
    callWaits: () => undefined,
    land: (_landing, key) => void landed.push(key),
    failed: (thrown) => void log.push(`failed ${String(thrown)}`),
  }
  const signals: Signals = { heard: () => false, publish: () => undefined, subscribe: () => () => undefined }
  const reconciler = new Reconciler(thread, { backend: { signals }, runner, maxParallelTools })
  return { log, done, shut, reconciler, took: () => log.splice(0) }
}

describe('reconcile', () => {
  const many = Array.from({ length: 100 }, (_, index) => call(index))

  it('RC4: many effects start over several turns of the event loop, in order', async () => {
    const { reconciler, took } = stage(1_000)
    reconciler.reconcile(many)
    const turns = [took()]
    // Asked again meanwhile: nothing starts before its turn.
    reconciler.startReady()
    expect(took()).toEqual([])
    while (reconciler.running < many.length) {
      await nextTurn()
      turns.push(took())
    }
    expect(turns.length).toBeGreaterThan(2)
    expect(Math.max(...turns.map(({ length }) => length))).toBeLessThan(many.length / 2)
    expect(turns.flat()).toEqual(many.map(({ key }) => `start ${key}`))
  })

  it('RC4: what is no longer wanted by then does not start', async () => {
    const { reconciler, took } = stage(1_000)
    reconciler.reconcile(many)
    reconciler.reconcile([model(2)])
    const begun = took().filter((line) => line.startsWith('start'))
    for (let turn = 0; turn < 4; turn++) await nextTurn()
    expect(took()).toEqual(['start step/2/model'])
    expect(begun.length).toBeLessThan(many.length)
  })

  it('RC1: starts what is wanted and missing, once', () => {
    const { reconciler, took } = stage()
    reconciler.reconcile([deadline, model(1)])
    reconciler.reconcile([deadline, model(1)])
    expect(took()).toEqual(['start deadline/turn/r', 'start step/1/model'])
    expect(reconciler.running).toBe(1)
  })

  it('RC1: aborts what is no longer wanted, and its outcome does not count', () => {
    const { reconciler, took, done } = stage()
    reconciler.reconcile([model(1)])
    const late = done.get('step/1/model')
    reconciler.reconcile([model(2)])
    expect(took()).toEqual(['start step/1/model', 'abort step/1/model: no longer wanted', 'start step/2/model'])
    expect(late?.()).toBe(false)
    expect(done.get('step/2/model')?.()).toBe(true)
    expect(done.get('step/2/model')?.()).toBe(false)
    expect(reconciler.running).toBe(0)
  })

  it('RC1: an effect that was aborted and is wanted again is another flight', () => {
    const { reconciler, done } = stage()
    reconciler.reconcile([model(1)])
    const first = done.get('step/1/model')
    reconciler.reconcile([])
    reconciler.reconcile([model(1)])
    expect(first?.()).toBe(false)
    expect(done.get('step/1/model')?.()).toBe(true)
  })

  it('RC2: no more calls at once than allowed, and the next in order when one lands', () => {
    const { reconciler, took, done } = stage(2)
    reconciler.reconcile([call(0), call(1), call(2), call(3)])
    expect(took()).toEqual(['start step/1/call/0', 'start step/1/call/1'])
    done.get('step/1/call/1')?.()
    reconciler.startReady()
    expect(took()).toEqual(['start step/1/call/2'])
    reconciler.startReady()
    expect(took()).toEqual([])
  })

  it('RC2, RC3: one that must wait holds back those behind it, until it is asked again', () => {
    const { reconciler, took, shut } = stage(8)
    shut.add('step/1/call/1')
    reconciler.reconcile([deadline, call(0), call(1), call(2)])
    expect(took()).toEqual(['start deadline/turn/r', 'start step/1/call/0'])
    shut.clear()
    reconciler.startReady()
    expect(took()).toEqual(['start step/1/call/1', 'start step/1/call/2'])
  })

  it('RC1: abortAll ends everything, or one kind, and forgets what was held back', () => {
    const { reconciler, took } = stage(1)
    reconciler.reconcile([deadline, call(0), call(1)])
    took()
    reconciler.abortAll('closing', 'model')
    expect(took()).toEqual([])
    reconciler.abortAll('closing')
    expect(took().sort()).toEqual(['abort deadline/turn/r: closing', 'abort step/1/call/0: closing'])
    reconciler.startReady()
    expect(took()).toEqual([])
    expect(reconciler.running).toBe(0)
  })
})
