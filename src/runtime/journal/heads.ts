/**
 * The index of threads, read page by page.
 */
import type { Backend, HeadFilter, StoredHead } from '../../backend/port.js'
import { defined } from '../../core/defined.js'

/** Every head that a filter asks for, in order of creation. */
export async function* eachHead({ heads }: Backend, filter: Omit<HeadFilter, 'cursor'>): AsyncGenerator<StoredHead> {
  let cursor: string | undefined
  do {
    const page = await heads.list({ ...filter, ...defined({ cursor }) })
    yield* page.heads
    cursor = page.next
  } while (cursor !== undefined)
}
