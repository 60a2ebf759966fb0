/** SKEIN_DEBUG=1: where a tool threw, for the thread's watchers and for the operator. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { memory } from '../../../../src/backend/memory/memory.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { deferred } from '../../../helpers/deferred.js'

const app = fileURLToPath(new URL('../fixtures/throwing-app.ts', import.meta.url))
const line =
  readFileSync(app, 'utf8')
    .split('\n')
    .findIndex((text) => text.includes('// thrown here')) + 1
const secret = 'carrier-token-12345'

/** What was said in a turn that calls `tool`, and to whom. */
async function told(tool: string) {
  const warnings: { what: string; stack: string }[] = []
  const warn = (what: string, thrown: unknown): void =>
    void warnings.push({ what, stack: thrown instanceof Error ? (thrown.stack ?? '') : '' })
  const skein = await createSkein({ app, backend: memory(), env: { TOKEN: secret }, workers: { threads: 1 }, warn })
  onTestFinished(() => skein.close())
  const thread = await skein.threads.create({ agent: 'shipper' })
  const logs: string[] = []
  const listens = deferred<void>()
  const watching = (async () => {
    for await (const event of thread.events()) {
      listens.resolve()
      if (event.type === 'tool.log') logs.push(event.text)
      if (event.type === 'turn.ended') return
    }
  })()
  await listens.promise
  await thread.send(tool).result()
  await watching
  return { id: thread.id, warnings, logs }
}

function debug(): void {
  process.env['SKEIN_DEBUG'] = '1'
  onTestFinished(() => void delete process.env['SKEIN_DEBUG'])
}

it.each([
  ['ships', `throwing-app.ts:${line}:`],
  // Here stacks are made by the test's runner; that they have the places of the sources is tested with the command
  // line.
  ['ships_here', 'at ship ('],
])('T8: with SKEIN_DEBUG=1 the stack of %s is told to the operator and in the log, masked', async (tool, place) => {
  debug()
  const { id, warnings, logs } = await told(tool)
  expect(warnings).toEqual([
    {
      what: `${tool} threw in thread ${id}`,
      stack: expect.stringContaining('RangeError: parcel refused for [redacted]'),
    },
  ])
  expect(logs).toHaveLength(1)
  for (const stack of [warnings[0]?.stack ?? '', ...logs]) {
    expect(stack).toContain(place)
    expect(stack).not.toContain(secret)
  }
})

it('every try is told', async () => {
  debug()
  const { warnings, logs } = await told('ships_again')
  expect([warnings.length, logs.length]).toEqual([2, 2])
})

it.each(['ships', 'ships_here'])('T8: without it nothing is told of %s', async (tool) => {
  const { warnings, logs } = await told(tool)
  expect({ warnings, logs }).toEqual({ warnings: [], logs: [] })
})
