/** Who hears that a message was refused. */
import { expect, it } from 'vitest'
import { createSkein, memory } from '../../../../src/index.js'
import { nextTurn } from '../../../../src/core/async/next-turn.js'
import { tinyApp } from '../../../helpers/app.js'

async function open() {
  const warnings: string[] = []
  const warn = (what: string, thrown: unknown): void => void warnings.push(`${what}: ${String(thrown)}`)
  const skein = await createSkein({ app: tinyApp({ script: ['hello'] }).app, backend: memory(), warn })
  return { skein, warnings, thread: await skein.threads.create({ agent: 'helper', id: 't' }) }
}

/** Refusals are told after the turn of the event loop in which they were made. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await nextTurn()
}

it('a message that is refused and whose run nobody awaits is told as a warning', async () => {
  const { skein, warnings, thread } = await open()
  thread.send('')
  await turns()
  expect(warnings).toEqual([expect.stringMatching(/^a message to thread t was refused.*nothing was sent: /)])
  await skein.close()
})

it('whoever awaits the run hears of it alone', async () => {
  const { skein, warnings, thread } = await open()
  await expect(thread.send('').text()).rejects.toThrow('nothing was sent')
  await expect(thread.send('').accepted()).rejects.toThrow('nothing was sent')
  thread.send('fine')
  await thread.settled()
  await turns()
  expect(warnings).toEqual([])
  await skein.close()
})

it('what is sent to a skein that is closed gives no warning', async () => {
  const { skein, warnings, thread } = await open()
  await skein.close()
  thread.send('late')
  await turns()
  expect(warnings).toEqual([])
})
