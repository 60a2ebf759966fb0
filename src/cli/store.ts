/** The store that a command works on, as a client sees it. */
import type { SkeinClient } from '../index.js'

/** A client on the store, closed when the command is done. */
export async function withClient<Result>(folder: string, body: (client: SkeinClient) => Promise<Result>): Promise<Result> {
  const { connectSkein, local } = await import('../index.js')
  const client = await connectSkein({ backend: local(folder) })
  try {
    return await body(client)
  } finally {
    await client.close()
  }
}
