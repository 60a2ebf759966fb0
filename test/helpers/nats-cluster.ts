/**
 * Three NATS servers that form one cluster, each with its own folder and ports: one is killed, stopped, continued and
 * started again while the other two go on. Owns the processes.
 *
 * - It is there when all three know who leads them; the same is waited for after one was started again.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { systemClock } from '../../src/core/clock.js'
import { natsBinary } from './nats-binary.js'
import type { NatsVersion } from './nats-binary.js'
import { askedVersion, freePort, serverProcess } from './nats-server.js'
import type { NatsServer } from './nats-server.js'

export interface ClusterNode extends Pick<NatsServer, 'kill' | 'start' | 'pause' | 'resume'> {
  readonly name: string
  readonly url: string
  readonly port: number
}

export interface NatsCluster {
  readonly nodes: readonly ClusterNode[]
  /** URLs of all nodes. */
  readonly urls: readonly string[]
  /** Who leads a stream, as the node answers that is asked first and knows it. */
  leaderOf(stream: string): Promise<ClusterNode>
  /** Continues and starts whatever is stopped or dead: a test that failed half-way leaves the next one three nodes. */
  heal(): Promise<void>
  remove(): Promise<void>
}

const jszSchema = z.object({
  meta_cluster: z.object({ leader: z.string().optional(), cluster_size: z.number() }).optional(),
  account_details: z
    .array(
      z.object({
        stream_detail: z
          .array(z.object({ name: z.string(), cluster: z.object({ leader: z.string().optional() }).optional() }))
          .optional(),
      }),
    )
    .optional(),
})

interface Ports {
  readonly port: number
  readonly http: number
  readonly route: number
}

export async function startCluster({
  version = askedVersion,
}: { readonly version?: NatsVersion } = {}): Promise<NatsCluster> {
  const binary = await natsBinary(version)
  const dir = await mkdtemp(join(tmpdir(), 'skein-nats-cluster-'))
  const ports: Ports[] = []
  for (let n = 0; n < 3; n++) ports.push({ port: await freePort(), http: await freePort(), route: await freePort() })
  const routes = ports.map(({ route }) => `nats://127.0.0.1:${route}`).join(', ')
  const made = await Promise.all(
    ports.map(async ({ port, http, route }, n) => {
      const [conf, data] = [join(dir, `n${n}.conf`), join(dir, `n${n}`)]
      await writeFile(
        conf,
        `server_name: n${n}\nhost: 127.0.0.1\nport: ${port}\nhttp: 127.0.0.1:${http}\njetstream { store_dir: ` +
          `${JSON.stringify(data)} }\ncluster { name: test, listen: 127.0.0.1:${route}, routes: [${routes}] }\n`,
      )
      const running = serverProcess(binary, ['-c', conf], { port, log: join(dir, `n${n}.log`), cwd: dir })
      const ready = (): Promise<void> => until(async () => (await askJsz(http))?.meta_cluster?.leader !== undefined)
      let dead = true
      const node: ClusterNode = {
        name: `n${n}`,
        url: `nats://127.0.0.1:${port}`,
        port,
        ...running,
        async start() {
          dead = false
          await running.start()
          await ready()
        },
        kill() {
          dead = true
          return running.kill()
        },
      }
      return { node, http, heal: () => (dead ? node.start() : node.resume()) }
    }),
  )
  const nodes = made.map(({ node }) => node)
  await Promise.all(nodes.map((node) => node.start()))
  return {
    nodes,
    urls: nodes.map(({ url }) => url),
    async leaderOf(stream) {
      for (;;) {
        for (const { http } of made) {
          const told = await askJsz(http)
          const leader = told?.account_details
            ?.flatMap(({ stream_detail = [] }) => stream_detail)
            .find(({ name }) => name === stream)?.cluster?.leader
          const found = nodes.find(({ name }) => name === leader)
          if (found) return found
        }
        await aMoment()
      }
    },
    async heal() {
      await Promise.all(made.map((each) => each.heal()))
    },
    async remove() {
      for (const node of nodes) await node.kill()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

async function askJsz(http: number): Promise<z.infer<typeof jszSchema> | undefined> {
  try {
    const answer = await fetch(`http://127.0.0.1:${http}/jsz?streams=true`, { signal: AbortSignal.timeout(1_000) })
    return jszSchema.parse(await answer.json())
  } catch {
    return undefined
  }
}

function aMoment(): Promise<void> {
  return new Promise((resolve) => void systemClock.wakeAt(systemClock.now() + 20, resolve))
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await aMoment()
}
