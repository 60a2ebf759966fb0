/**
 * The same app on every store. What else is promised there is in the other files of this folder, each of which runs
 * on all of them.
 */
import { expect, it } from 'vitest'
import { memory } from '../../../../src/backend/memory/memory.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { cutAfterEveryCommit, finish } from '../../../helpers/every-commit.js'
import { family, last, write } from '../../../helpers/family.js'
import { onEveryStore } from '../../../helpers/world.js'

const createApp = () => {
  const note = looseTool('note', async ({ files }, { text }) => {
    await files.writeFile('/note.txt', String(text))
    return { status: 'success', result: `noted ${String(text)}`, attachments: ['/note.txt'] }
  })
  return family({
    tools: [note],
    lead: ({ step, messages }) =>
      [calls(write('a'), { tool: 'note', args: { text: 'own' } }), calls(write('b'))][step] ??
      results(messages).join(' | '),
    writer: ({ step, messages }) =>
      step === 0 ? calls({ tool: 'note', args: { text: last(messages) } }) : `wrote ${last(messages)}`,
  })
}

onEveryStore('one app', (world) => {
  it('N4: ends with the same words, threads, transcripts and files as in memory', async () => {
    const inMemory = await createSkein({ app: createApp(), backend: memory(), clock: world.clock })
    const expected = await finish(inMemory)
    await inMemory.close()
    expect(expected.threads).toHaveLength(3)
    expect(await finish(await world.open(createApp()))).toEqual(expected)
  })

  it('N4, P1: is cut off after any of its commits and goes on to the same end', async () => {
    const { cuts, text } = await cutAfterEveryCommit(createApp, () => world.fresh())
    expect(cuts).toBeGreaterThan(8)
    expect(text).toMatch(/wrote noted a.*wrote noted b/s)
  })
})
