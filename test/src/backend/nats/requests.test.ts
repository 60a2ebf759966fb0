/** One request and its answer, message by message: as it is encoded, as its answer is read, and how it ends without one. */
import { connect, errors, headers } from '@nats-io/transport-node'
import type { NatsConnection } from '@nats-io/transport-node'
import { jetstreamManager } from '@nats-io/jetstream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { steadyClock } from '../../../../src/core/clock.js'
import { ConnectionCut, ServerConnection } from '../../../../src/backend/nats/connection/connection.js'
import { asHeaders, encodeHeaders, encodeText, headerLine } from '../../../../src/backend/nats/connection/encoding.js'
import { publish } from '../../../../src/backend/nats/connection/publish.js'
import { StreamReader } from '../../../../src/backend/nats/connection/read.js'
import { writtenSeq } from '../../../../src/backend/nats/connection/requests.js'
import { startNats } from '../../../helpers/nats-server.js'
import type { NatsServer } from '../../../helpers/nats-server.js'

const stream = 'requests_all'
let server: NatsServer
let other: NatsConnection

beforeAll(async () => {
  server = await startNats()
  other = await connect({ servers: server.url })
  const jsm = await jetstreamManager(other)
  await jsm.streams.add({ name: stream, subjects: ['requests.>'], allow_direct: true })
  // Somebody listens there, so that the server does not say that nobody does; and never answers.
  other.subscribe('silent.>', { callback: () => undefined })
  await other.flush()
})

afterAll(async () => {
  await other.close()
  await server.remove()
})

function open(): Promise<ServerConnection> {
  return ServerConnection.open({
    transport: { servers: server.url },
    namespace: 'requests',
    address: server.url,
    patienceMs: 2_000,
  })
}

async function endOf(request: Promise<unknown>): Promise<{ readonly ms: number; readonly thrown: unknown }> {
  const start = steadyClock.now()
  const thrown: unknown = await request.then(
    () => undefined,
    (error: unknown) => error,
  )
  return { ms: steadyClock.now() - start, thrown }
}

it('reads the sequence of a written message from the bytes of the answer, and leaves all other answers to JSON', () => {
  const seqs = (texts: readonly string[]): (number | undefined)[] => texts.map((text) => writtenSeq(Buffer.from(text)))
  expect(
    seqs([
      '{"stream":"a_log","seq":1}',
      '{"stream":"a_log", "seq":1234567890123}',
      `{"stream":"a_log","seq":${Number.MAX_SAFE_INTEGER}}`,
    ]),
  ).toEqual([1, 1_234_567_890_123, Number.MAX_SAFE_INTEGER])
  const others = [
    '',
    '{}',
    '{"stream":"a_log"}',
    '{"stream":"a_log","seq":}',
    '{"stream":"a_log","seq":12',
    '{"stream":"a_log","seq":12,"duplicate":true}',
    '{"stream":"a_log","domain":"hub","seq":12}',
    '{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 3"},"stream":"a_log","seq":0}',
    '{"type":"io.nats.jetstream.api.v1.stream_msg_delete_response","success":true}',
  ]
  expect(seqs(others)).toEqual(others.map(() => undefined))
})

it('headers and texts are on the server as they were given, whatever their characters and length', async () => {
  const connection = await open()
  const reader = new StreamReader(connection, 1)
  const long = 'ü€😀'.repeat(5_000)
  for (const [index, text] of ['', 'plain', 'ü€😀', long].entries()) {
    const subject = `requests.text.${index}`
    const given = { 'Skein-One': JSON.stringify({ text: text.slice(0, 30), line: 'a\r\nb' }), 'Skein-Two': '2' }
    const seq = await publish(connection, reader, { stream, subject, payload: text, headers: given, expected: 0 })
    const found = await reader.last(stream, subject)
    expect(found?.seq).toBe(seq)
    expect(Buffer.from(found?.data ?? []).toString()).toBe(text)
    expect(Object.fromEntries(Object.keys(given).map((name) => [name, found?.headers.get(name)]))).toEqual(given)
  }
  await connection.close()
})

it('encodes headers as the client does', () => {
  const theirs = headers()
  theirs.set('Skein-Id', 'x1')
  theirs.set('Skein-Commit', '{"thread":"ü"}')
  const ours = asHeaders(encodeHeaders(headerLine('Skein-Id', 'x1') + headerLine('Skein-Commit', '{"thread":"ü"}')))
  const bytes = (of: object): Uint8Array => {
    if (!('encode' in of) || typeof of.encode !== 'function') throw new Error('the client encodes in another way')
    return of.encode()
  }
  expect(Buffer.from(bytes(ours)).toString()).toBe(Buffer.from(bytes(theirs)).toString())
})

it('texts that are encoded later change none that was encoded before', () => {
  const texts = Array.from({ length: 500 }, (_, index) => `${index}:${'é'.repeat(index * 3)}`)
  const encoded = texts.map(encodeText)
  expect(encoded.map((bytes) => Buffer.from(bytes).toString())).toEqual(texts)
})

it('a message that may be written twice has no headers of its own; one that may not has an id', async () => {
  const connection = await open()
  const reader = new StreamReader(connection, 1)
  const seen: (string[] | undefined)[] = []
  const tap = other.subscribe('requests.headers.*', {
    callback: (_failed, message) => void seen.push(message.headers?.keys()),
  })
  await other.flush()
  await publish(connection, reader, { stream, subject: 'requests.headers.1', payload: 'any' })
  await publish(connection, reader, { stream, subject: 'requests.headers.2', payload: 'one', expected: 0 })
  await other.flush()
  tap.unsubscribe()
  expect(seen).toEqual([undefined, ['Skein-Id', 'Nats-Expected-Last-Subject-Sequence']])
  await connection.close()
})

it('each request ends at its own deadline, also one that is asked later and ends sooner', async () => {
  const connection = await open()
  const later = endOf(connection.request({ subject: 'silent.later', payload: '', timeoutMs: 400 }))
  const sooner = endOf(connection.request({ subject: 'silent.sooner', payload: '', timeoutMs: 100 }))
  const ends = await Promise.all([later, sooner])
  for (const { thrown } of ends) expect(thrown).toBeInstanceOf(errors.TimeoutError)
  expect(ends[0].ms).toBeGreaterThanOrEqual(399)
  expect(ends[1].ms).toBeGreaterThanOrEqual(99)
  expect(ends[1].ms).toBeLessThan(350)
  // Deadlines are looked at again after that.
  const { thrown, ms } = await endOf(connection.request({ subject: 'silent.again', payload: '', timeoutMs: 50 }))
  expect(thrown).toBeInstanceOf(errors.TimeoutError)
  expect(ms).toBeLessThan(350)
  await connection.close()
})

it('a request under way when the connection breaks fails at once, and so does one that is made before it is back', async () => {
  const connection = await open()
  const underWay = endOf(connection.request({ subject: 'silent.cut', payload: '' }))
  void connection.nc.reconnect()
  const { thrown, ms } = await underWay
  expect(thrown).toBeInstanceOf(ConnectionCut)
  expect(ms).toBeLessThan(2_000)
  expect((await endOf(connection.request({ subject: 'silent.cut', payload: '' }))).thrown).toBeInstanceOf(ConnectionCut)
  await connection.close()
})

it('a request that nobody hears is told apart; one under way when the store closes ends with that', async () => {
  const connection = await open()
  const unheard = await endOf(connection.request({ subject: 'unheard', payload: '' }))
  expect(unheard.thrown).toBeInstanceOf(errors.NoRespondersError)
  const underWay = endOf(connection.request({ subject: 'silent.closed', payload: '' }))
  await connection.close()
  expect((await underWay).thrown).toMatchObject({ code: 'STORE_CLOSED' })
  expect((await endOf(connection.request({ subject: 'silent.closed', payload: '' }))).thrown).toMatchObject({
    code: 'STORE_CLOSED',
  })
})
