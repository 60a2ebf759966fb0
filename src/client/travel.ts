/** Time travel over HTTP: the timeline of a thread, its forks, going back, and differences. */
import { defined } from '../core/defined.js'
import { pointText } from '../core/point.js'
import type {
  Crossing,
  DiffOptions,
  ForkOptions,
  RewindOptions,
  Rewound,
  SkeinClient,
  Thread,
  ThreadAt,
  ThreadInfo,
} from '../index.js'
import { checkKnown } from './transport.js'
import type { Transport } from './transport.js'

/** `Forked`: a thread over HTTP. */
export interface RemoteTravel<Forked> extends Pick<Thread, 'timeline' | 'rewind'> {
  /**
   * Another thread that begins with its past up to a point; with `dry`, only what that would cross. `force` and
   * `effects: 'run'` need a key with the scope `approve` besides.
   */
  fork(options: ForkOptions & { readonly dry: true }): Promise<Crossing>
  fork(options?: ForkOptions): Promise<Forked>
}

const pageNames: ReadonlySet<string> = new Set(['after', 'limit'])
const diffNames: ReadonlySet<string> = new Set(['of', 'patches'])

export function createTravel<Forked>(
  transport: Transport,
  path: string,
  threadOf: (info: ThreadInfo) => Forked,
): RemoteTravel<Forked> {
  function fork(options: ForkOptions & { readonly dry: true }): Promise<Crossing>
  function fork(options?: ForkOptions): Promise<Forked>
  async function fork(options: ForkOptions & { readonly dry?: boolean } = {}): Promise<Crossing | Forked> {
    const asked = { method: 'POST', body: options } as const
    if (options.dry) return transport.json<Crossing>(`${path}/fork`, { ...asked, again: true })
    // With an id and a point, asking twice is asking once.
    const again = options.id !== undefined && options.at !== undefined
    return threadOf(await transport.json<ThreadInfo>(`${path}/fork`, { ...asked, again }))
  }
  return {
    async timeline(page = {}) {
      checkKnown('timeline', page, pageNames)
      type Rows = Awaited<ReturnType<Thread['timeline']>>
      return (await transport.json<{ rows: Rows }>(`${path}/timeline`, { query: { ...page } })).rows
    },
    fork,
    rewind: createRewind(transport, path),
  }
}

/** Reverts take as long as they take. */
const revertMs = 600_000

function createRewind(transport: Transport, path: string): Thread['rewind'] {
  function rewind(options: RewindOptions & { readonly dry: true }): Promise<Crossing>
  function rewind(options: RewindOptions): Promise<Rewound>
  async function rewind(options: RewindOptions & { readonly dry?: boolean }): Promise<Crossing | Rewound> {
    const waitMs = options.revert ? revertMs : 0
    return transport.json(`${path}/rewind`, { method: 'POST', body: options, waitMs, again: options.dry === true })
  }
  return rewind
}

export function createDiff(transport: Transport): SkeinClient['diff'] {
  return async (a, b, options: DiffOptions = {}) => {
    checkKnown('diff', options, diffNames)
    const { of, patches } = options
    const query = { a: sideText(a), b: sideText(b), ...defined({ of: of?.join(','), patches }) }
    return transport.json('/diff', { query })
  }
}

function sideText(side: ThreadAt): string {
  if (typeof side === 'string') return side
  const { thread, at } = side
  return at ? `${thread}@${pointText(at)}` : thread
}
