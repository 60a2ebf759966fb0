/**
 * The host's line to the monitor of a worker: what can be asked while a body computes.
 * Whoever asks is answered, also when the worker dies meanwhile: nothing of a dead one was withdrawn.
 */
import type { Socket } from 'node:net'
import { z } from 'zod'
import { ask } from './wire.js'
import type { FromMonitor } from './wire.js'

export interface MonitorLine {
  /** Asks how it is; told by `seen`. */
  look(): void
  /** Whether the call has not begun, and never will. */
  withdraw(call: number): Promise<boolean>
  close(): void
}

interface Told {
  readonly seen: (told: Extract<FromMonitor, { readonly beat: number }>) => void
  /** Why the thread that runs bodies is gone. */
  readonly ended: (why: string) => void
  /** Something was said that the host does not understand. */
  readonly broken: () => void
}

const schema = z.union([
  z.strictObject({ beat: z.number(), rssKb: z.number() }),
  z.strictObject({ withdrawn: z.number(), ok: z.boolean() }),
  z.strictObject({ ended: z.string() }),
])

function toldIn(line: string): FromMonitor | undefined {
  try {
    return schema.safeParse(JSON.parse(line)).data
  } catch {
    // Not JSON.
    return undefined
  }
}

export function createMonitorLine(socket: Socket | undefined, { seen, ended, broken }: Told): MonitorLine {
  const asked = new Map<number, ((withdrawn: boolean) => void)[]>()
  let closed = socket === undefined
  let looking = false
  let rest = ''
  const hear = (told: FromMonitor): void => {
    if ('beat' in told) {
      looking = false
      return seen(told)
    }
    if ('ended' in told) return ended(told.ended)
    for (const answered of asked.get(told.withdrawn) ?? []) answered(told.ok)
    asked.delete(told.withdrawn)
  }
  socket?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    // A body may write to the line, too: what is not the monitor's ends its worker, not the host.
    for (const line of lines) {
      const told = toldIn(line)
      if (!told) return broken()
      hear(told)
    }
  })
  return {
    look() {
      // One question at a time: a process that is stopped is not to find thousands.
      if (looking || closed) return
      looking = true
      socket?.write(`${ask.look}\n`)
    },
    withdraw: (call) =>
      new Promise((resolve) => {
        if (closed) return resolve(false)
        asked.set(call, [...(asked.get(call) ?? []), resolve])
        socket?.write(`${ask.withdraw(call)}\n`)
      }),
    close() {
      closed = true
      for (const waiting of asked.values()) for (const answered of waiting) answered(false)
      asked.clear()
    },
  }
}
