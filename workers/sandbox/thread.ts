/**
 * The entry point of a thread of guests. Engines run here, beside the thread of the body, which can therefore stop them
 * whatever they do.
 *
 * - `ended` is the last message of a run.
 * - While the thread waits for a reply nothing else happens on it; a reply to a run that has ended meanwhile is
 *   dropped.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { broken } from '../../src/core/failure.js'
import { textOf } from '../../src/core/json.js'
import { createRunEnd } from './run-end.js'
import { runGuest } from './run-guest.js'
import type { GuestServices } from './run-guest.js'
import { createGuestOutput } from './guest-output.js'
import type { Verdict } from './verdict.js'
import type { WasmModule } from './wasm.js'
import { counter } from './wire.js'
import type { HostCall, ToGuest, GuestReply, GuestThreadData, FromGuest } from './wire.js'

if (!parentPort) throw broken('GW1', 'guests have a thread of their own')
const port = parentPort
const { calls, counters } = workerData as GuestThreadData

const send = (message: FromGuest): void => port.postMessage(message)
const now = (): number => Number(process.hrtime.bigint()) / 1e6

interface Running {
  readonly services: GuestServices
  stop(): void
}

const runs = new Map<number, Running>()
let resolveModule: (module: WasmModule) => void
const module = new Promise<WasmModule>((resolve) => (resolveModule = resolve))

function callHost(call: HostCall): string | null {
  calls.postMessage(call)
  Atomics.add(counters, counter.calls, 1)
  Atomics.notify(counters, counter.calls)
  for (;;) {
    const count = Atomics.load(counters, counter.replies)
    const received = receiveMessageOnPort(calls) as { readonly message: GuestReply } | undefined
    if (received?.message.run === call.run && received.message.id === call.id) return received.message.text
    if (!received) Atomics.wait(counters, counter.replies, count)
  }
}

async function begin({ run, job, stop }: Extract<ToGuest, { type: 'begin' }>): Promise<void> {
  const stopped = new AbortController()
  const runEnd = createRunEnd({
    timeoutMs: job.timeoutMs,
    now,
    signal: stopped.signal,
    isStopped: () => Atomics.load(stop, 0) === 1,
  })
  const output = createGuestOutput({
    log: (log) => send({ type: 'log', run, log }),
    report: (value) => send({ type: 'report', run, value }),
  })
  let pages = 0
  const services: GuestServices = {
    runEnd,
    output,
    now,
    module,
    callHost: (call) => callHost({ run, ...call }),
    onMemoryGrown(more) {
      pages += more
      Atomics.add(counters, counter.pages, more)
    },
    onAnswer: () => undefined,
  }
  runs.set(run, { services, stop: () => stopped.abort() })
  const verdict = await runGuest(job, services).catch(unforeseen)
  runEnd.close()
  runs.delete(run)
  Atomics.sub(counters, counter.pages, pages)
  send({ type: 'ended', run, verdict })
}

function unforeseen(thrown: unknown): Verdict {
  return { status: 'error', error: { name: 'InternalError', message: `the sandbox failed: ${textOf(thrown)}` } }
}

port.on('message', (order: ToGuest) => {
  if (order.type === 'engine') resolveModule(order.module)
  else if (order.type === 'begin') void begin(order)
  else if (order.type === 'answer') runs.get(order.run)?.services.onAnswer(order.id, order.text)
  else runs.get(order.run)?.stop()
})
send({ type: 'ready' })
