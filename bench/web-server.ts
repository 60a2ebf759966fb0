/**
 * A tree of many threads behind a server, in a process of its own. What it is told by the bench of the page: how many
 * events a second, to tell the time, to lose what it knows.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { serve } from '../src/server.js'
import { createBusyTree } from './lib/busy-tree.js'

export type StormCommand =
  | { readonly kind: 'storm'; readonly perSecond: number; readonly tellsTime?: boolean }
  | { readonly kind: 'lose' }
  | { readonly kind: 'streams' }

const tree = createBusyTree(Number(process.argv[2]))
const server = await serve(tree.skein, { auth: 'none', port: 0 })

/** Streams of the page that are open. */
const open = new Set<IncomingMessage>()
subscribe('http.server.request.start', (told) => {
  const { request }: { request?: IncomingMessage } = Object(told)
  if (!request?.url?.startsWith('/view?')) return
  open.add(request)
  request.once('close', () => open.delete(request))
})

const tickMs = 10
const timeMs = 50
let perSecond = 0
let began = performance.now()
let sent = 0
let toldAt = Infinity

setInterval(() => {
  const now = performance.now()
  for (const due = ((now - began) / 1_000) * perSecond; sent < due; sent++) tree.change()
  if (now - toldAt < timeMs) return
  toldAt = now
  tree.tellTime()
}, tickMs)

process.on('message', (said: StormCommand) => {
  if (said.kind === 'lose') return tree.lose()
  if (said.kind === 'streams') return void process.send?.({ streams: open.size })
  ;({ perSecond } = said)
  began = performance.now()
  sent = 0
  toldAt = said.tellsTime ? 0 : Infinity
})
process.on('disconnect', () => process.exit(0))
process.send?.({ url: server.url, root: tree.root })
