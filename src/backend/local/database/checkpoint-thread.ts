/**
 * A thread that copies the write-ahead log into the database, so that no commit waits for the disk. It has a connection
 * of its own and is started by the first checkpoint. Owns that thread.
 *
 * - A checkpoint holds up neither writers nor readers: what is written meanwhile is in the next one.
 * - It does not keep a process alive, and is gone when `close` is done.
 */
import type { Worker } from 'node:worker_threads'
import { z } from 'zod'
import { startBeside } from './driver.js'

/** `frames`: pages in the log; `copied`: those of them that are in the database. */
export interface Checkpoint {
  readonly frames: number
  readonly copied: number
}

const answer = z.union([z.object({ frames: z.number(), copied: z.number() }), z.object({ failed: z.string() })])

const source = `
  const { parentPort } = require('node:worker_threads')
  const database = new Database(path)
  database.exec('PRAGMA busy_timeout = 0')
  const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  parentPort.on('message', (wanted) => {
    if (wanted === 'close') {
      database.close()
      return parentPort.close()
    }
    try {
      const { log, checkpointed } = checkpoint.get()
      parentPort.postMessage({ frames: log, copied: checkpointed })
    } catch (error) {
      parentPort.postMessage({ failed: String(error) })
    }
  })
`

interface Waiting {
  readonly resolve: (checkpoint: Checkpoint) => void
  readonly reject: (thrown: unknown) => void
}

export class CheckpointThread {
  readonly #path: string
  #worker: Worker | undefined
  #ended: Promise<void> | undefined
  #waiting: Waiting | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** One at a time. */
  run(): Promise<Checkpoint> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#worker ??= this.#start()
      this.#worker.postMessage('checkpoint')
    })
  }

  async close(): Promise<void> {
    this.#worker?.ref()
    this.#worker?.postMessage('close')
    await this.#ended
  }

  #start(): Worker {
    const worker = startBeside(source, { path: this.#path })
    worker.unref()
    worker.on('message', (message) => this.#answered(message))
    worker.once('error', (thrown) => this.#lost(worker, thrown))
    this.#ended = new Promise((resolve) => {
      worker.once('exit', () => {
        this.#lost(worker, new Error('the thread of checkpoints has ended'))
        resolve()
      })
    })
    return worker
  }

  /** The next checkpoint starts another. */
  #lost(worker: Worker, why: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    this.#failed(why)
  }

  #answered(message: unknown): void {
    const told = answer.parse(message)
    if ('failed' in told) return this.#failed(new Error(told.failed))
    this.#waiting?.resolve(told)
    this.#waiting = undefined
  }

  #failed(thrown: unknown): void {
    this.#waiting?.reject(thrown)
    this.#waiting = undefined
  }
}
