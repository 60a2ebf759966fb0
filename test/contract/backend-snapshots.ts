/** What every backend promises of snapshots (J6), part of the suite in backend.ts. */
import { expect, it } from 'vitest'
import type { Context } from './backend-context.js'
import { commit } from './entries.js'

export function snapshots({ backend }: Context): void {
  it('J6: a snapshot is kept as bytes, the last one counts, and there may be none', async () => {
    expect(await backend().snapshots.get('a')).toBeUndefined()
    const bytes = Uint8Array.from([0, 255, 1])
    await backend().commit(commit('a', 0))
    await backend().snapshots.put('a', bytes)
    bytes[0] = 9
    expect([...((await backend().snapshots.get('a')) ?? [])]).toEqual([0, 255, 1])
    await backend().snapshots.put('a', Uint8Array.from([2]))
    expect([...((await backend().snapshots.get('a')) ?? [])]).toEqual([2])
  })
}
