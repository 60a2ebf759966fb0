/** Calls that hosts find under way when they come back: how often each is tried. */
import { expect, it } from 'vitest'
import type { Landing } from '../../../../actors/thread/decide/landings.js'
import { outstanding } from '../../../../actors/thread/outstanding.js'
import type { ThreadState } from '../../../../actors/thread/state.js'
import { LastTries, Recovery } from '../../../../src/runtime/resident/recovery.js'
import { toSettings } from '../../../../src/runtime/options.js'
import { live } from '../../../helpers/life.js'

/** A thread whose step has one call, which is under way. */
function acting(): ThreadState {
  return live([
    { kind: 'command', command: { kind: 'message', text: 'go', role: 'user', delivery: 'steer' } },
    { kind: 'reply', text: '', calls: [{ tool: 'work', args: {} }], stop: false },
  ]).state
}

/** Hosts come and go, each while the call is under way: how many tries are counted until it is answered. */
function triesOf(state: ThreadState, runsHere: boolean): number {
  const settings = { ...toSettings({ app: [] }).host, warn: () => undefined }
  let given: Landing | undefined
  let tries = 0
  for (let deaths = 0; deaths < 100 && !given; deaths++) {
    const recovery = new Recovery({
      state,
      settings,
      outbox: { allDurable: true },
      lastTries: new LastTries(),
      runsHere: () => runsHere,
      record({ index, tries: counted }) {
        const slot = state.slots.items[index]
        if (slot) slot.tries = counted
        tries = counted
      },
      land: (landing) => (given = landing),
    })
    recovery.begin(outstanding(state))
    for (const effect of outstanding(state)) if (effect.kind === 'call' && !given) recovery.ready(effect, 0)
  }
  expect(given).toMatchObject({ landed: { outcome: { failure: { code: 'CALL_KILLED_ITS_HOST' } } } })
  return tries
}

it('RH1: a body on the host is answered with an error after three deaths', () => {
  expect(triesOf(acting(), true)).toBe(2)
})

it('RH1: a body in a worker, which cannot end its host, is tried three times as often', () => {
  expect(triesOf(acting(), false)).toBe(8)
})
