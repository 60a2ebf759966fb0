/** The store that a command works on: as a client sees it, and as it is named to a person. */
import type { SkeinClient } from '../index.js'
import { shellWord } from './format.js'
import type { StoreLocation } from './place.js'

/** A client on the store, closed when the command is done. */
export async function withClient<Result>(
  place: StoreLocation,
  body: (client: SkeinClient) => Promise<Result>,
): Promise<Result> {
  const { connectSkein } = await import('../index.js')
  const client = await connectSkein({ backend: await place.source(), ...place.key })
  try {
    return await body(client)
  } finally {
    await client.close()
  }
}

/** A command for this store, as it is typed. */
export function commandLine({ flags }: StoreLocation, ...words: readonly string[]): string {
  return [...words, ...flags].map(shellWord).join(' ')
}
