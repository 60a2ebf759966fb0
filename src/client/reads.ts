/** What can be read of a thread over HTTP: where it stands, what it has done and spent, and those below it. */
import type { SideEffect, Thread, ThreadRecord } from '../index.js'
import { checkKnown } from './transport.js'
import type { Transport } from './transport.js'

type Reads = Pick<Thread, 'usage' | 'tree' | 'children' | 'state' | 'effects' | 'records' | 'context' | 'export'>

interface Children {
  readonly children: Awaited<ReturnType<Thread['children']>>
}

const pageNames: ReadonlySet<string> = new Set(['after', 'before', 'limit'])
const contextNames: ReadonlySet<string> = new Set(['side'])
const exportNames: ReadonlySet<string> = new Set(['tree', 'maxBlobBytes'])

export function createReads(transport: Transport, path: string): Reads {
  return {
    usage: () => transport.json(`${path}/usage`),
    tree: () => transport.json(`${path}/tree`),
    children: async () => (await transport.json<Children>(`${path}/children`)).children,
    state: () => transport.json(`${path}/state`),
    effects: async () => (await transport.json<{ effects: readonly SideEffect[] }>(`${path}/effects`)).effects,
    async records(page = {}) {
      checkKnown('records', page, pageNames)
      const query = { ...page }
      return (await transport.json<{ records: readonly ThreadRecord[] }>(`${path}/records`, { query })).records
    },
    async context(query = {}) {
      checkKnown('context', query, contextNames)
      return transport.json(`${path}/context`, { query: { ...query } })
    },
    async export(options = {}) {
      checkKnown('export', options, exportNames)
      return transport.json(`${path}/export`, { query: { ...options } })
    },
  }
}
