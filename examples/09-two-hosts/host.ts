/** A host. It knows the server, not the other one; on another machine it would be the same. */
import { createSkein, nats } from 'skein'
import * as app from './app.js'

const [name = '', servers = '', monitor = '', ledger = ''] = process.argv.slice(2)
const skein = await createSkein({
  app,
  backend: nats({ servers, monitor, namespace: 'rivers', leaseMs: 1_000 }), // how long a dead host keeps its threads
  env: { HOST: name, LEDGER: ledger },
  limits: { maxParallelChildren: 8 },
  warn: () => undefined,
})
process.send?.('ready')
process.on('disconnect', () => void skein.close())
