/**
 * The host's connection to the monitor of a worker, which answers also while a body blocks the thread of bodies.
 *
 * - Every request is answered. When the worker dies, pending withdrawals are answered with false: a dead worker
 *   withdraws nothing.
 */
import type { Socket } from 'node:net'
import { z } from 'zod'
import { monitorRequest } from './wire.js'
import type { FromMonitor } from './wire.js'

export interface MonitorPort {
  /** Asks for the status; the answer goes to `onStatus`. */
  requestStatus(): void
  /** Whether the call has not begun, and never will. */
  withdraw(call: number): Promise<boolean>
  close(): void
}

interface MonitorListener {
  readonly onStatus: (status: Extract<FromMonitor, { readonly beat: number }>) => void
  /** The thread of bodies has ended. */
  readonly onThreadEnd: (cause: string) => void
  /** The monitor sent what is not of this protocol. */
  readonly onGarbage: () => void
}

const schema = z.union([
  z.strictObject({ beat: z.number(), rssKb: z.number() }),
  z.strictObject({ withdrawn: z.number(), ok: z.boolean() }),
  z.strictObject({ ended: z.string() }),
])

function parseLine(line: string): FromMonitor | undefined {
  try {
    return schema.safeParse(JSON.parse(line)).data
  } catch {
    // Not JSON.
    return undefined
  }
}

export function createMonitorPort(
  socket: Socket | undefined,
  { onStatus, onThreadEnd, onGarbage }: MonitorListener,
): MonitorPort {
  const withdrawals = new Map<number, ((withdrawn: boolean) => void)[]>()
  let closed = socket === undefined
  let awaitingStatus = false
  let rest = ''
  const receive = (message: FromMonitor): void => {
    if ('beat' in message) {
      awaitingStatus = false
      return onStatus(message)
    }
    if ('ended' in message) return onThreadEnd(message.ended)
    for (const resolve of withdrawals.get(message.withdrawn) ?? []) resolve(message.ok)
    withdrawals.delete(message.withdrawn)
  }
  socket?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    // A body can write to this descriptor too: garbage ends its worker, never the host.
    for (const line of lines) {
      const message = parseLine(line)
      if (!message) return onGarbage()
      receive(message)
    }
  })
  return {
    requestStatus() {
      // One request at a time: a stopped process must not find thousands of them when it continues.
      if (awaitingStatus || closed) return
      awaitingStatus = true
      socket?.write(`${monitorRequest.status}\n`)
    },
    withdraw: (call) =>
      new Promise((resolve) => {
        if (closed) return resolve(false)
        withdrawals.set(call, [...(withdrawals.get(call) ?? []), resolve])
        socket?.write(`${monitorRequest.withdraw(call)}\n`)
      }),
    close() {
      closed = true
      for (const waiting of withdrawals.values()) for (const resolve of waiting) resolve(false)
      withdrawals.clear()
    },
  }
}
