/** How `text()` and the streams of strings end: in the same way, and never as if all had been said. */
import { expect, it } from 'vitest'
import { appOn, calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'
import type { Model } from '../../../../src/models/port.js'
import type { Run } from '../../../../src/runtime/watch/run.js'

/** Says the beginning of something, and then nothing more. */
const hesitant = (spoken: () => void): Model => ({
  name: 'hesitant',
  call: (_, { emit, signal }) => {
    emit({ type: 'text', text: 'I was about to' })
    spoken()
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  },
})

async function read(run: Run): Promise<{ pieces: string[]; error: unknown }> {
  const pieces: string[] = []
  try {
    for await (const piece of run.textStream) pieces.push(piece)
    return { pieces, error: undefined }
  } catch (error) {
    return { pieces, error }
  }
}

onEveryStore('the text of a turn', (world) => {
  const beginning = async (options: Parameters<typeof world.open>[1] = {}) => {
    const spoken = deferred()
    const skein = await world.open(appOn(hesitant(() => spoken.resolve())), options)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    const reading = read(run)
    await spoken.promise
    return { thread, run, reading }
  }

  it.each([
    ['cancel', 'cancelled', 'the turn was cancelled: enough'],
    ['terminate', 'terminated', 'the thread ended before'],
  ] as const)(
    'R1: after %s text() and textStream end with CANCELLED and the reason',
    async (command, stopReason, words) => {
      const { thread, run, reading } = await beginning()
      await thread[command]({ reason: 'enough' })
      const cancelled = { code: 'CANCELLED', message: expect.stringContaining(words), data: { stopReason } }
      await expect(run.text()).rejects.toMatchObject(cancelled)
      expect((await reading).error).toMatchObject(cancelled)
      expect((await read(run)).error).toMatchObject(cancelled)
      expect(await run.result()).toMatchObject({ stopReason, text: '' })
    },
  )

  it('R1: a message that an ended thread never read is CANCELLED too', async () => {
    const { thread } = await beginning()
    const unread = thread.send('later', { delivery: 'new_turn' })
    await unread.accepted()
    await thread.terminate()
    await expect(unread.text()).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(await read(unread)).toMatchObject({ pieces: [], error: { code: 'CANCELLED' } })
  })

  it('R1: a turn that failed ends both with its failure', async () => {
    const { app } = tinyApp({ script: [{ error: 'no such model' }] })
    const run = (await (await world.open(app)).threads.create({ agent: 'helper' })).send('go')
    const failed = { code: 'MODEL_REJECTED', message: expect.stringContaining('no such model') }
    await expect(run.text()).rejects.toMatchObject(failed)
    expect((await read(run)).error).toMatchObject(failed)
  })

  it('L1, R1: a limit is no error: what was said until then is the text, and half a reply is taken back', async () => {
    const { app } = tinyApp({
      script: () => ({ text: 'looking', ...Object(calls('look')) }),
      tools: [looseTool('look', () => 'seen')],
    })
    const skein = await world.open(app, { limits: { maxSteps: 1 } })
    const run = (await skein.threads.create({ agent: 'helper' })).send('go')
    expect(await run.text()).toBe('looking')
    expect(await read(run)).toEqual({ pieces: ['looking'], error: undefined })
    await world.close(skein)
    const late = await beginning({ limits: { maxWallClockMs: 1_000 } })
    world.clock.advance(1_000)
    expect(await late.run.text()).toBe('')
    const { pieces, error } = await late.reading
    expect([pieces.join(''), error]).toMatchObject(['I was about to', { code: 'TEXT_TAKEN_BACK' }])
  })
})
