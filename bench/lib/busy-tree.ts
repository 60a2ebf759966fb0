/** A tree of many threads without a runtime: what the server would be told of it, as fast as a bench wants it. */
import type { ServedSkein } from '../../src/http/route.js'

interface Told {
  readonly position: number
  readonly thread: object
}

/** Hands over what is pushed, in order, to one reader. */
class Feed<Item> {
  #items: Item[] = []
  #wake: (() => void) | undefined
  #failure: unknown

  push(item: Item): void {
    this.#items.push(item)
    this.#wake?.()
  }

  /** Whoever reads now is thrown this; who comes next begins anew. */
  fail(failure: unknown): void {
    this.#failure = failure
    this.#wake?.()
  }

  async *read(): AsyncGenerator<Item> {
    this.#items = []
    this.#failure = undefined
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure
      const item = this.#items.shift()
      if (item !== undefined) yield item
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }
}

export interface BusyTree {
  readonly skein: ServedSkein
  readonly root: string
  /** Something happens to one thread. */
  change(): void
  /** The first thread says what time it is. */
  tellTime(): void
  /** What the server knows of the tree is lost: numbers begin anew. */
  lose(): void
}

export function createBusyTree(size: number): BusyTree {
  const root = 'swarm'
  const start = Date.now() - 60_000
  const idOf = (index: number): string => (index === 0 ? root : `c_${index.toString(36).padStart(8, '0')}`)
  const parentOf = (index: number): number => Math.floor((index - 1) / 100)
  const heads = Array.from({ length: size }, (_, index) => ({
    thread: idOf(index),
    agent: index % 3 === 0 ? 'researcher' : 'writer',
    status: 'idle',
    tags: [],
    root,
    path: [root],
    ...(index > 0 && { parent: idOf(parentOf(index)), reference: `researcher-${index}` }),
    rest: index % 5 !== 0,
    usage: { tokens: 1_000 + index, costUsd: 0.01 },
    step: 1,
    createdAt: start + index,
    updatedAt: start + index + 2_000,
    seq: 8,
  }))
  const rows = new Feed<Told>()
  const events = new Feed<object>()
  function* past(): Generator<object> {
    for (const [index, { thread }] of heads.entries()) {
      const at = start + index
      const origin = { thread, path: [root], cursor: `${index}.1` }
      yield { type: 'turn.started', seq: 2, at, run: 'r', ...origin }
      yield {
        type: 'model.replied',
        seq: 3,
        at: at + 400 + (index % 700),
        step: 1,
        model: 'fast',
        text: '',
        calls: [{ tool: 'search', args: {} }],
        ...origin,
      }
      yield {
        type: 'tool.result',
        seq: 4,
        at: at + 1_200 + (index % 900),
        step: 1,
        index: 0,
        outcome: { ok: true, value: '' },
        ...origin,
      }
    }
  }
  let turn = 0
  const change = (): void => {
    const index = (turn * 7_919) % size
    const head = heads[index]
    if (!head) return
    turn++
    const at = Date.now()
    const status = ['thinking', 'acting', 'idle'][turn % 3] ?? 'idle'
    const next = {
      ...head,
      status,
      seq: head.seq + 1,
      updatedAt: at,
      usage: { tokens: head.usage.tokens + 10, costUsd: 0.01 },
    }
    heads[index] = next
    rows.push({ position: turn, thread: next })
    events.push({
      // Of a call that is known: what is measured does not grow.
      type: 'tool.result',
      thread: head.thread,
      path: [root],
      cursor: `${turn}.9`,
      seq: next.seq,
      at,
      step: 1,
      index: 0,
      outcome: { ok: true, value: '' },
    })
  }
  const counts = { threads: size, working: 0, waiting: 0, failed: 0, unknown: 0, dead: 0, tokens: 0, costUsd: 0 }
  const skein: ServedSkein = Object({
    threads: { get: async () => ({ info: async () => heads[0] }) },
    inbox: { list: async () => [], watch: () => new Feed<object>().read() },
    directory: () => ({
      ready: async () => undefined,
      list: async ({ rootsOnly }: { rootsOnly?: boolean }) => ({
        threads: rootsOnly ? heads.slice(0, 1) : heads,
        position: 1,
      }),
      counts: async () => ({ ...counts, position: 1 }),
      watch: ({ root: only }: { root?: string } = {}) => (only === undefined ? new Feed<Told>().read() : rows.read()),
    }),
    async *events({ until }: { until?: 'now' }) {
      if (until === 'now') yield* past()
      else yield* events.read()
    },
  })
  const tellTime = (): void => {
    const [head] = heads
    if (!head) return
    const next = { ...head, seq: head.seq + 1, says: String(Date.now()), updatedAt: Date.now() }
    heads[0] = next
    rows.push({ position: ++turn, thread: next })
  }
  return { skein, root, change, tellTime, lose: () => rows.fail(new Error('lost')) }
}
