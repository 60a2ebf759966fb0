/** An app as a host has it: its definitions, Skein's own tools, and those of the servers that it names. */
import type { App } from '../agent/app.js'
import { loadApp } from './load-app.js'
import type { AppSource } from './load-app.js'

/** `disconnect` ends what was connected for it. */
export async function equip(source: AppSource): Promise<{ readonly app: App; disconnect(): Promise<void> }> {
  const { ownTools } = await import('../tools/own-tools.js')
  let disconnect = async (): Promise<void> => undefined
  try {
    const app = await loadApp(source, {
      builtins: ownTools,
      async connectMcp(servers) {
        const { connectMcp } = await import('../pool/mcp.js')
        // By the time of this machine: servers live in it, whatever clock the threads have.
        const connected = await connectMcp(servers)
        disconnect = () => connected.close()
        return connected.tools
      },
    })
    return { app, disconnect: () => disconnect() }
  } catch (thrown) {
    await disconnect()
    throw thrown
  }
}
