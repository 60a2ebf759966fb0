/** The store that a command works on: as a client sees it, and as it is named to a person. */
import type { SkeinClient } from '../index.js'
import { shellWord } from './format.js'

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

/** A command for this store, as it is typed. */
export function typed(store: string, ...words: readonly string[]): string {
  return [...words, ...(store === '.skein' ? [] : ['--store', store])].map(shellWord).join(' ')
}
