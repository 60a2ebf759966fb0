/**
 * One NATS server of each version for a whole run of the tests, where they are asked for on NATS; vitest calls this
 * before the first file.
 */
import type { TestProject } from 'vitest/node'
import { natsAskedFor } from './nats-binary.js'
import type { NatsVersion } from './nats-binary.js'
import { startNats } from './nats-server.js'
import type { NatsServer } from './nats-server.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where each is. */
    readonly nats: Partial<Record<NatsVersion, string>>
  }
}

const servers: NatsServer[] = []

export async function setup(project: TestProject): Promise<void> {
  const urls: Partial<Record<NatsVersion, string>> = {}
  for (const version of natsAskedFor((process.env['STORES'] ?? '').split(','))) {
    const server = await startNats({ version })
    servers.push(server)
    urls[version] = server.url
  }
  project.provide('nats', urls)
}

export async function teardown(): Promise<void> {
  await Promise.all(servers.map((server) => server.remove()))
}
