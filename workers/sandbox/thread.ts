/**
 * The thread of guests begins here: engines run on it, beside the thread of the body that asked, which therefore can
 * stop them whatever they do.
 *
 * - A run is told about until its end, and its end is the last that is told.
 * - While the thread waits for a reply nothing else happens on it; a reply to a run that has ended meanwhile is
 *   dropped.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { broken } from '../../src/core/failure.js'
import { textOf } from '../../src/core/json.js'
import { createRunEnd } from './run-end.js'
import { runGuest } from './run-guest.js'
import type { GuestContext } from './run-guest.js'
import { createGuestOutput } from './guest-output.js'
import type { Verdict } from './verdict.js'
import type { WasmModule } from './wasm.js'
import { counter } from './wire.js'
import type { HostCall, ToGuest, GuestReply, GuestThreadData, FromGuest } from './wire.js'

if (!parentPort) throw broken('GW1', 'guests have a thread of their own')
const port = parentPort
const { calls, counters: cells } = workerData as GuestThreadData

const tell = (word: FromGuest): void => port.postMessage(word)
const now = (): number => Number(process.hrtime.bigint()) / 1e6

interface Running {
  readonly visit: GuestContext
  stop(): void
}

const runs = new Map<number, Running>()
let engine: (module: WasmModule) => void
const module = new Promise<WasmModule>((resolve) => (engine = resolve))

function ask(call: HostCall): string | null {
  calls.postMessage(call)
  Atomics.add(cells, counter.calls, 1)
  Atomics.notify(cells, counter.calls)
  for (;;) {
    const count = Atomics.load(cells, counter.replies)
    const received = receiveMessageOnPort(calls) as { readonly message: GuestReply } | undefined
    if (received?.message.run === call.run && received.message.id === call.id) return received.message.text
    if (!received) Atomics.wait(cells, counter.replies, count)
  }
}

async function begin({ run, job, stop }: Extract<ToGuest, { type: 'begin' }>): Promise<void> {
  const stopped = new AbortController()
  const ending = createRunEnd({
    timeoutMs: job.timeoutMs,
    now,
    signal: stopped.signal,
    told: () => Atomics.load(stop, 0) === 1,
  })
  const said = createGuestOutput({
    log: (log) => tell({ type: 'log', run, log }),
    report: (value) => tell({ type: 'report', run, value }),
  })
  let pages = 0
  const visit: GuestContext = {
    end: ending,
    output: said,
    now,
    module,
    callHost: (call) => ask({ run, ...call }),
    onMemoryGrown(more) {
      pages += more
      Atomics.add(cells, counter.pages, more)
    },
    onAnswer: () => undefined,
  }
  runs.set(run, { visit, stop: () => stopped.abort() })
  const verdict = await runGuest(job, visit).catch(unforeseen)
  ending.close()
  runs.delete(run)
  Atomics.sub(cells, counter.pages, pages)
  tell({ type: 'ended', run, verdict })
}

function unforeseen(thrown: unknown): Verdict {
  return { status: 'error', error: { name: 'InternalError', message: `the sandbox failed: ${textOf(thrown)}` } }
}

port.on('message', (order: ToGuest) => {
  if (order.type === 'engine') engine(order.module)
  else if (order.type === 'begin') void begin(order)
  else if (order.type === 'answer') runs.get(order.run)?.visit.onAnswer(order.id, order.text)
  else runs.get(order.run)?.stop()
})
tell({ type: 'ready' })
