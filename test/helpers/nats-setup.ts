/** One NATS server for a whole run of the tests, where they are asked for on NATS; vitest calls this before the first file. */
import type { TestProject } from 'vitest/node'
import { startNats } from './nats-server.js'
import type { NatsServer } from './nats-server.js'

declare module 'vitest' {
  interface ProvidedContext {
    readonly nats: string
  }
}

let server: NatsServer | undefined

export async function setup(project: TestProject): Promise<void> {
  if (!process.env['STORES']?.includes('nats')) return
  server = await startNats()
  project.provide('nats', server.url)
}

export async function teardown(): Promise<void> {
  await server?.remove()
}
