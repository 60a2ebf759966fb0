/** An app as a host has it: its definitions, Skein's own tools, and those of the servers that it names. */
import type { App } from '../../agent/app.js'
import type { McpDefinition } from '../../tools/foreign/server.js'
import { loadApp } from './load.js'
import type { AppSource } from './load.js'

export interface LoadedApp {
  readonly app: App
  readonly servers: readonly McpDefinition[]
  /** Ends what was connected for it. */
  disconnect(): Promise<void>
}

export async function loadAppWithTools(source: AppSource): Promise<LoadedApp> {
  const { ownTools } = await import('../../tools/own/all.js')
  let servers: readonly McpDefinition[] = []
  let disconnect = async (): Promise<void> => undefined
  try {
    const app = await loadApp(source, {
      builtins: ownTools,
      async connectMcp(named) {
        servers = named
        const { connectMcp } = await import('../../mcp/connect.js')
        // By the time of this machine: servers live in it, whatever clock the threads have.
        const connected = await connectMcp(named)
        disconnect = () => connected.close()
        return connected.tools
      },
    })
    return { app, servers, disconnect: () => disconnect() }
  } catch (thrown) {
    await disconnect()
    throw thrown
  }
}
