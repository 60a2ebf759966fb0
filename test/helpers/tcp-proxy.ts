/** A TCP proxy between a client and a server on loopback, for cables that are cut and answers that are lost. */
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** From now on what the server answers is lost; what clients send arrives. */
  swallow(): void
  /** From now on what clients send is lost; what the server says arrives. */
  mute(): void
  /** Reads no more of what the server says on the connections that are there: it piles up over there. */
  stall(): void
  /** Reads on. */
  flow(): void
  /** Breaks every connection; new ones are refused until `mend`. */
  cut(): void
  mend(): void
  close(): Promise<void>
}

export async function createTcpProxy(to: number): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let [whole, silent, dumb] = [true, false, false]
  const server = createServer((near) => {
    if (!whole) return void near.destroy()
    const far = connect(to, '127.0.0.1')
    const pair = [near, far] as const
    pairs.add(pair)
    near.on('data', (chunk) => void (dumb || far.write(chunk)))
    far.on('data', (chunk) => void (silent || near.write(chunk)))
    for (const socket of pair) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        pairs.delete(pair)
        near.destroy()
        far.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const cut = (): void => {
    whole = false
    for (const [near, far] of pairs) {
      near.destroy()
      far.destroy()
    }
  }
  return {
    port,
    stall() {
      for (const [, far] of pairs) far.pause()
    },
    flow() {
      for (const [, far] of pairs) far.resume()
    },
    swallow: () => void (silent = true),
    mute: () => void (dumb = true),
    cut,
    mend() {
      whole = true
      silent = false
      dumb = false
    },
    async close() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
