/** What the suite of all backends says of the check of a key. */
import { expect, it } from 'vitest'
import type { Context } from './backend-context.js'

export function keyCheck({ backend, open, reopen }: Context): void {
  it('the first check of a key that is kept stays, for hosts and clients, and after a restart', async () => {
    expect(await backend().keyCheck.read()).toBeUndefined()
    const client = await open('client')
    await expect(client.keyCheck.keep('theirs')).rejects.toMatchObject({ code: 'INVARIANT' })
    const kept = await Promise.all(['v1.one', 'v1.two'].map((text) => backend().keyCheck.keep(text)))
    expect(new Set(kept).size).toBe(1)
    expect(['v1.one', 'v1.two']).toContain(kept[0])
    expect([await backend().keyCheck.keep('v1.three'), await client.keyCheck.read()]).toEqual([kept[0], kept[0]])
    expect(await (await reopen()).keyCheck.read()).toBe(kept[0])
  })
}
