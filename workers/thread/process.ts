/**
 * A worker process begins here. Its main thread runs no body: it starts the thread that does, by Piscina, answers the
 * host while a body computes, and ends the process when the host or the thread is gone.
 *
 * - It says nothing by itself but why the thread ended: the host asks (WT1), or is gone (WT4).
 * - The thread has the lines to the host to itself: no call takes a hop through this thread.
 */
import { Socket } from 'node:net'
import { Piscina } from 'piscina'
import { ask, channel } from '../../src/pool/processes/wire.js'
import type { FromMonitor, WorkerThreadData, WorkerData } from '../../src/pool/processes/wire.js'
import { control, controlLength, isWithdrawnIn } from './control.js'

const { app, memoryMb } = JSON.parse(process.argv[2] ?? '{}') as WorkerData
process.argv.splice(2)

// A signal to all is for the host, which lets its calls end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

const numbers = new Int32Array(new SharedArrayBuffer(controlLength * Int32Array.BYTES_PER_ELEMENT))
const host = new Socket({ fd: channel.monitor, readable: true, writable: true })

const end = (): void => void process.kill(process.pid, 'SIGKILL')

const tell = (told: FromMonitor, then?: () => void): void => void host.write(`${JSON.stringify(told)}\n`, then)

function answer(line: string): void {
  if (line === ask.look)
    return tell({ beat: Atomics.load(numbers, control.beat), rssKb: Math.round(process.memoryUsage.rss() / 1024) })
  const call = Number(line.slice(line.indexOf(' ') + 1))
  tell({ withdrawn: call, ok: isWithdrawnIn(numbers, call) })
}

let rest = ''
host.setEncoding('utf8').on('data', (text: string) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop() ?? ''
  for (const line of lines) answer(line)
})
for (const event of ['end', 'error', 'close']) host.on(event, end)

const threads = new Piscina({
  filename: new URL('./entry.js', import.meta.url).href,
  maxThreads: 1,
  recordTiming: false,
  resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  // Synchronous waiting freezes a thread's event loop between tasks.
  atomics: 'disabled',
})
// Some ends are told by the thread, others only to the task that it had.
let ended = false
const tellEnd = (thrown: unknown): void => {
  if (ended) return
  ended = true
  tell({ ended: thrown instanceof Error ? thrown.message : String(thrown) }, end)
}
threads.on('error', tellEnd)
const data: WorkerThreadData = { app, memoryMb, numbers }
threads.run(data, { name: 'serve' }).catch(tellEnd)
