/** What every backend promises of signals (J7), part of the suite in backend.ts. */
import { expect, it } from 'vitest'
import type { Context } from './backend-context.js'

export function signals({ backend, open }: Context): void {
  it("J7: one publisher's signals on one topic keep their order, and other topics are not heard", async () => {
    const heard: unknown[] = []
    const last = new Promise<void>((resolve) => {
      backend().signals.subscribe('t', (value) => {
        heard.push(value)
        if (value === 99) resolve()
      })
    })
    backend().signals.publish('other', 'no')
    for (let n = 0; n < 100; n += 1) backend().signals.publish('t', n)
    await last
    expect(heard).toEqual(Array.from({ length: 100 }, (_, n) => n))
  })

  it('J7: a host is told when nobody hears what it says, and only then', async () => {
    const host = backend().signals
    const client = await open('client')
    const there = new Promise((resolve) => void client.signals.subscribe('there', resolve))
    const here = new Promise((resolve) => void host.subscribe('here', resolve))
    await client.mailbox.put({ to: 'x', id: 'after', body: 1 })
    await backend().heads.get('x') // the host knows of the subscription now
    const unheard: string[] = []
    await new Promise<void>((resolve) => {
      for (const topic of ['here', 'there', 'nowhere'])
        host.publish(topic, topic, () => {
          unheard.push(topic)
          resolve()
        })
    })
    expect(await Promise.all([here, there])).toEqual(['here', 'there'])
    expect(unheard).toEqual(['nowhere'])
  })

  it('J7: heard() is true while anyone listens, of whatever process, and a stopped listener hears nothing', async () => {
    const heard: unknown[] = []
    const stop = backend().signals.subscribe('t', (value) => heard.push(value))
    expect(backend().signals.heard('t')).toBe(true)
    stop()
    backend().signals.publish('t', 1)
    const client = await open('client')
    const told = new Promise((resolve) => void client.signals.subscribe('t', resolve))
    // Mail goes the same way as the subscription, and an answer to the host after both: it knows of it now.
    await client.mailbox.put({ to: 'x', id: 'after', body: 1 })
    await backend().heads.get('x')
    expect(backend().signals.heard('t')).toBe(true)
    backend().signals.publish('t', { text: 'hello' })
    expect(await told).toEqual({ text: 'hello' })
    expect(heard).toEqual([])
  })
}
