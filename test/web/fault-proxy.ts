/** A proxy between a browser and a server on loopback that does to streams what networks and servers do to them. */
import { createServer, request as ask } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** `freeze`: nothing more comes, and the connection stays; a number: the server answers with this status. */
export type Fault = 'none' | 'freeze' | 'bytes' | 'twice' | 'gone' | 401 | 403 | 503

export interface FaultProxy {
  readonly url: string
  /** From now on, and for streams that are open. */
  play(fault: Fault): void
  /** Breaks every open stream. */
  cut(): void
  /** Another server has taken over. */
  lead(to: string): void
  /** Streams of the page that are open. */
  readonly streams: number
  /** How many were opened so far. */
  readonly opened: number
  close(): Promise<void>
}

const isStream = ({ url = '' }: IncomingMessage): boolean => url.includes('/view?')

export async function createFaultProxy(first: string): Promise<FaultProxy> {
  let target = new URL(first)
  let fault: Fault = 'none'
  let opened = 0
  const streams = new Set<ServerResponse>()
  const server = createServer((near, back) => {
    if (fault === 'gone') return void near.socket.destroy()
    if (typeof fault === 'number' && near.url?.includes('/view')) return refuse(back, fault)
    const { hostname, port } = target
    const headers = { ...near.headers, host: `${hostname}:${port}` }
    const far = ask({ hostname, port, path: near.url, method: near.method, headers }, (answer) => {
      back.writeHead(answer.statusCode ?? 502, answer.headers)
      if (!isStream(near)) return void answer.pipe(back)
      opened++
      streams.add(back)
      carry(answer, back, () => fault)
    })
    far.on('error', () => near.socket.destroy())
    back.once('close', () => {
      streams.delete(back)
      far.destroy()
    })
    near.pipe(far)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const cut = (): void => {
    for (const stream of streams) stream.destroy()
  }
  return {
    url: `http://127.0.0.1:${port}`,
    play(next) {
      fault = next
      if (next === 'gone' || typeof next === 'number') cut()
    },
    cut,
    lead(to) {
      target = new URL(to)
      cut()
    },
    get streams() {
      return streams.size
    },
    get opened() {
      return opened
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function refuse(back: ServerResponse, status: number): void {
  back.writeHead(status, { 'content-type': 'application/problem+json' })
  back.end(JSON.stringify({ code: 'PLAYED', detail: `the server answers ${status}`, status }))
}

function carry(from: IncomingMessage, to: ServerResponse, fault: () => Fault): void {
  let rest = ''
  let held = ''
  from.setEncoding('utf8')
  from.on('data', (next: string) => {
    held += next
    if (fault() === 'freeze') return
    // Nothing is lost on the way: it comes late.
    const text = held
    held = ''
    if (fault() === 'bytes') {
      for (const byte of Buffer.from(text)) to.write(Uint8Array.of(byte))
      return
    }
    if (fault() !== 'twice') return void to.write(text)
    const events = `${rest}${text}`.split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) to.write(`${event}\n\n${event}\n\n`)
  })
  from.once('end', () => to.end())
  from.once('error', () => to.destroy())
}
