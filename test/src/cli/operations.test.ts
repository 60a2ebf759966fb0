/** H1, C1: what probes and orchestrators see of a server: real processes, a store that goes away, SIGTERM under work. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { connect } from '../../../src/client.js'
import { createSkein, nats } from '../../../src/index.js'
import { tinyApp } from '../../helpers/app.js'
import { freePort, startNats } from '../../helpers/nats-server.js'
import { asking, served } from '../../helpers/served.js'
import { fixture, objects, place } from './binary.js'

it('H1, R2: SIGTERM under an open stream and a running turn: the client goes on at the next process, nothing is lost', async () => {
  const { folder, start } = place()
  const gate = join(folder, 'gate')
  const port = await freePort()
  const begin = async () => {
    const args = ['serve', fixture('waits'), '--port', String(port), '--no-auth', '--json']
    const server = start(args, { env: { GATE_FILE: gate } })
    await server.says('"type":"listening"')
    return server
  }
  const url = `http://127.0.0.1:${port}`
  // Nobody listens before the store is open.
  await expect(asking(url).ask('/ready')).rejects.toThrow('fetch failed')
  const first = await begin()
  expect((await asking(url).ask('/ready')).status).toBe(200)
  const client = connect(url)
  onTestFinished(() => client.close())
  const run = (await client.threads.create({ agent: 'slow', id: 'one' })).send('work')
  const seen: string[] = []
  let between: unknown
  let second: Awaited<ReturnType<typeof begin>> | undefined
  for await (const event of client.events({ root: 'one' })) {
    if ('cursor' in event) seen.push(event.cursor)
    if (event.type === 'turn.started') {
      first.child.kill('SIGTERM')
      await first.ended
      between = await asking(url).ask('/ready').catch(String)
      second = await begin()
      writeFileSync(gate, '')
    }
    if (event.type === 'turn.ended') break
  }
  const { code, stdout } = await first.ended
  expect([code, objects(stdout).at(-1)]).toMatchObject([143, { type: 'stopped' }])
  expect(between).toContain('fetch failed')
  expect(await run.text()).toBe('slow work is done')
  const all: string[] = []
  for await (const event of client.events({ root: 'one', until: 'now' })) if ('cursor' in event) all.push(event.cursor)
  expect(seen).toEqual(all.slice(0, seen.length))
  second?.child.kill('SIGTERM')
  expect((await second?.ended)?.code).toBe(143)
})

it('H1: a server whose store is away is alive and not ready, and ready again when it is back', async () => {
  const store = await startNats()
  onTestFinished(() => store.remove())
  const backend = nats({ servers: store.url, namespace: 'ops', partitions: 2, sync: 'relaxed' })
  const skein = await createSkein({ app: tinyApp({ script: () => 'fine' }).app, backend, warn: () => undefined })
  onTestFinished(() => skein.close())
  const server = await served(skein)
  const status = async (path: string): Promise<number> => (await server.ask(path, { key: '' })).status
  expect([await status('/health'), await status('/ready')]).toEqual([200, 200])
  await store.kill()
  // That a host was seen counts for a moment.
  await expect.poll(() => status('/ready')).toBe(503)
  expect(await status('/health')).toBe(200)
  await store.start()
  await expect.poll(() => status('/ready')).toBe(200)
  await server.close()
  await expect(status('/ready')).rejects.toThrow('fetch failed')
})
