/** A server that is no host, in a process of its own, for W11: `node http-server.mjs <job as JSON>`. */
import { load } from './skein.mjs'

const { dist, url, namespace } = JSON.parse(process.argv[2])
const doors = await load(new URL(dist))
const { serve } = await import(new URL('src/server.js', dist).href)
const skein = await doors.connectSkein({ backend: doors.nats({ servers: url, namespace, sync: 'relaxed' }) })
const server = await serve(skein, { port: 0, auth: 'none' })

process.on('message', () => process.send({ peakMb: process.resourceUsage().maxRSS / 1_024 }))
process.on('disconnect', () => process.exit(0))
process.send({ at: server.url })
