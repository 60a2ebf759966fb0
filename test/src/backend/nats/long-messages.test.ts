/** The NATS client as the package carries it (scripts/vendor-nats.ts), with messages of every length. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import fc from 'fast-check'
import type * as Client from '@nats-io/transport-node'
import { startNats } from '../../../helpers/nats-server.js'
import type { NatsServer } from '../../../helpers/nats-server.js'
import { times } from '../../../helpers/soak.js'

const carried = new URL('../../../../dist/vendor/nats-transport-node.js', import.meta.url).href
let client: typeof Client
let server: NatsServer

beforeAll(async () => {
  client = await import(carried)
  server = await startNats()
})

afterAll(() => server.remove())

const long = 32 * 1024
const lengths = [0, 1, 100, long - 1, long, long + 1, 2 * long, 5 * long, 16 * long, 1_000_000]
const filled = (length: number, index: number): Buffer => Buffer.alloc(length, `${index}:${length}-`)

it('long and short messages arrive whole, each once and in the order in which they were sent', async () => {
  const connection = await client.connect({ servers: server.url })
  const order = [...lengths, ...lengths.toReversed(), ...lengths.filter((_, index) => index % 3 === 0)]
  const seen: Buffer[] = []
  await new Promise<void>((resolve) => {
    connection.subscribe('long.>', {
      callback: (_failed, { data }) => {
        // A copy: what follows must not change it, which is compared below.
        seen.push(Buffer.from(data))
        if (seen.length === order.length) resolve()
      },
    })
    for (const [index, length] of order.entries()) {
      const headers = client.headers()
      headers.set('Index', String(index))
      connection.publish(`long.${index}`, filled(length, index), index % 2 === 0 ? { headers } : {})
    }
  })
  expect(seen.map(({ length }) => length)).toEqual(order)
  for (const [index, length] of order.entries()) expect(seen[index]?.equals(filled(length, index))).toBe(true)
  await connection.close()
})

it('a message that comes in pieces is the same however it is cut', () => {
  const bodies = [0, 5, long, 3, 2 * long + 7].map(filled)
  const wire = Buffer.concat(
    bodies.flatMap((body, index) => {
      const header = index % 2 === 0 ? '' : 'NATS/1.0\r\nIndex: 1\r\n\r\n'
      const line =
        header === ''
          ? `MSG a.${index} 1 ${body.length}\r\n`
          : `HMSG a.${index} 1 reply.${index} ${header.length} ${header.length + body.length}\r\n`
      return [Buffer.from(line + header), body, Buffer.from('\r\n')]
    }),
  )
  const read = (cuts: readonly number[]): string[] => {
    const found: string[] = []
    const push = (event: Client.ParserEvent): void => {
      if (event.kind !== client.Kind.MSG || !event.msg || !event.data) return
      const { subject, reply, hdr } = event.msg
      const place = [subject, reply ?? new Uint8Array()].map((each) => Buffer.from(each).toString())
      found.push(`${place.join(' ')} ${hdr} ${Buffer.from(event.data).toString('base64')}`)
    }
    const parser = new client.Parser({ push })
    const sorted = [...cuts, wire.length].toSorted((one, other) => one - other)
    let from = 0
    for (const to of sorted) {
      if (to > from) parser.parse(new Uint8Array(wire.subarray(from, to)))
      from = Math.max(from, to)
    }
    return found
  }
  const whole = read([])
  expect(whole).toHaveLength(bodies.length)
  fc.assert(
    fc.property(fc.array(fc.nat(wire.length), { maxLength: 12 }), (cuts) => void expect(read(cuts)).toEqual(whole)),
    { numRuns: times(100, 2_000) },
  )
})
