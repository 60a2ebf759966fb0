/** The store that a command works on: what was given for its folder, and what is said when it cannot be opened. */
import { statSync } from 'node:fs'
import type { BackendSource, SkeinClient } from '../index.js'

/** Opens it as a client or as a host, whichever `open` does. */
export async function openStore<Opened>(folder: string, open: (backend: BackendSource) => Promise<Opened>): Promise<Opened> {
  const { SkeinError, isSkeinError, local } = await import('../index.js')
  if (folder === '') throw new SkeinError('BAD_OPTION', 'the name of the store is empty: give a folder to --store')
  try {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) throw new SkeinError('BAD_OPTION', `the store ${folder} is a file; give a folder`)
    return await open(local(folder))
  } catch (thrown) {
    if (isSkeinError(thrown)) throw thrown
    throw new SkeinError('STORE_FAILED', `the store ${folder} cannot be opened: ${thrown instanceof Error ? thrown.message : String(thrown)}`, { cause: thrown })
  }
}

/** A client on the store, closed when the command is done. */
export async function withClient<Result>(folder: string, body: (client: SkeinClient) => Promise<Result>): Promise<Result> {
  const { connectSkein } = await import('../index.js')
  const client = await openStore(folder, (backend) => connectSkein({ backend }))
  try {
    return await body(client)
  } finally {
    await client.close()
  }
}
