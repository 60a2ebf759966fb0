/**
 * The entry point of a worker process. Its main thread, the monitor, runs no body: it starts the thread that does, by
 * Piscina, answers the host while a body computes, and ends the process when the host or that thread is gone.
 *
 * - It speaks only when asked (WT1), except to say why the thread of bodies ended. It ends the process when the host
 *   is gone (WT4).
 * - The thread of bodies has its own connection to the host: no call takes a hop through the monitor.
 */
import { Socket } from 'node:net'
import { Piscina } from 'piscina'
import { channel, monitorRequest } from '../../src/pool/processes/wire.js'
import type { FromMonitor, WorkerThreadData, WorkerData } from '../../src/pool/processes/wire.js'
import { control, controlLength, tryWithdraw } from './control.js'

const { app, memoryMb } = JSON.parse(process.argv[2] ?? '{}') as WorkerData
process.argv.splice(2)

// A signal to the process group is for the host, which lets its calls end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

const numbers = new Int32Array(new SharedArrayBuffer(controlLength * Int32Array.BYTES_PER_ELEMENT))
const host = new Socket({ fd: channel.monitor, readable: true, writable: true })

const endProcess = (): void => void process.kill(process.pid, 'SIGKILL')

const send = (message: FromMonitor, sent?: () => void): void => void host.write(`${JSON.stringify(message)}\n`, sent)

function answer(line: string): void {
  if (line === monitorRequest.status)
    return send({ beat: Atomics.load(numbers, control.beat), rssKb: Math.round(process.memoryUsage.rss() / 1024) })
  const call = Number(line.slice(line.indexOf(' ') + 1))
  send({ withdrawn: call, ok: tryWithdraw(numbers, call) })
}

let rest = ''
host.setEncoding('utf8').on('data', (text: string) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop() ?? ''
  for (const line of lines) answer(line)
})
for (const event of ['end', 'error', 'close']) host.on(event, endProcess)

const threads = new Piscina({
  filename: new URL('./entry.js', import.meta.url).href,
  maxThreads: 1,
  recordTiming: false,
  resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  // Waiting with Atomics would block the thread's event loop between tasks.
  atomics: 'disabled',
})
// Some ends are reported as an event of the thread, others only as the failure of its task.
let ended = false
const reportEnd = (thrown: unknown): void => {
  if (ended) return
  ended = true
  send({ ended: thrown instanceof Error ? thrown.message : String(thrown) }, endProcess)
}
threads.on('error', reportEnd)
const data: WorkerThreadData = { app, memoryMb, numbers }
threads.run(data, { name: 'serveBodies' }).catch(reportEnd)
