/** K3: an app without hooks pays nothing for them, neither a record nor a field. */
import { hash } from 'node:crypto'
import { expect, it } from 'vitest'
import { memory } from '../../../../src/backend/memory/memory.js'
import { manualClock } from '../../../../src/core/manual-clock.js'
import { decode } from '../../../../src/runtime/journal/journal.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { looseTool, tinyApp } from '../../../helpers/app.js'

it('K3: without hooks a journal has no word of them, and is byte for byte what it was', async () => {
  const backend = memory()
  const call = (tool: string) => ({ tool, args: { at: 'home' } })
  const { app } = tinyApp({
    tools: [
      looseTool('look', () => 'found'),
      looseTool('write', async (state) => {
        await state.kv.set('n', 1)
        return { written: true }
      }),
    ],
    script: ({ step }) =>
      step < 3 ? { text: `step ${step}`, calls: [call('look'), call('write'), call('none')] } : 'done',
  })
  const skein = await createSkein({ app, backend, clock: manualClock(1_700_000_000_000) })
  const thread = await skein.threads.create({ agent: 'helper', id: 'plain' })
  for (const id of ['a', 'b']) await thread.send(`message ${id}`, { id }).result()
  await skein.close()
  const client = await backend.open('client')
  // The id of the command that created the thread is random.
  const records = (await client.journal.read('plain'))
    .flatMap((entry) => decode('plain', entry))
    .map(({ by: _, ...record }) => record)
  await client.close()
  const text = JSON.stringify(records)
  expect(text).not.toMatch(/hook|"after"/)
  // Another hash is another journal of every thread: see that it is meant, and that old journals still fold.
  expect(hash('sha256', text)).toBe('b185d64923554fd4af70ddbcb5f46dc98c1cb591ad8d3a71ed873d5df31cd8ac')
})
