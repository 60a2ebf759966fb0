/** Bodies on the host's own thread: when they begin. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../src/agent/define.js'
import { createCancel } from '../../../src/core/async/cancel.js'
import { manualClock } from '../../../src/core/manual-clock.js'
import { createHostPool } from '../../../src/pool/host-pool.js'
import type { ToolJob } from '../../../src/pool/port.js'
import { deferred } from '../../helpers/deferred.js'

function jobOf(tool: string): ToolJob {
  return {
    tool,
    args: {},
    threadId: 't',
    idempotencyKey: 'k',
    cancel: createCancel(),
    run: { part: 'execute' },
    env: {},
    secrets: [],
    snapshot: { open: () => expect.fail('nothing is read') },
    emit: () => undefined,
  }
}

it('T10, EX3: a call that is left while something is loaded for it never begins', async () => {
  let began = 0
  const pay = defineTool({ name: 'pay', description: '', args: z.object({}), execute: async () => `${++began}` })
  const loading = deferred()
  const pool = createHostPool(() => loading.promise.then(() => pay), manualClock())
  const [left, kept] = [jobOf('pay'), jobOf('pay')]
  const results = [pool.run(left), pool.run(kept)]
  left.cancel.abort(new Error('its outcome is known'))
  loading.resolve()
  expect(await Promise.all(results)).toMatchObject([
    { outcome: { ok: false, failure: { code: 'CANCELLED' } } },
    { outcome: { ok: true, value: '1' } },
  ])
})
