/**
 * In a project of Next.js this is `app/api/skein/[...path]/route.ts`: every method of every path below is answered by
 * one function. The skein is made once per process; a token for one tree is what a page gets.
 */
import { createSkein, memory } from 'skein'
import { createHandler, createKey } from 'skein/server'

export const skein = await createSkein({ app: new URL('./app.ts', import.meta.url), backend: memory() })
const { key, sha256 } = createKey()
const handler = createHandler(skein, {
  basePath: '/api/skein',
  auth: { keys: [{ name: 'shop', sha256, scopes: ['admin'] }] },
})

export const GET = handler.fetch
export const POST = handler.fetch

/** For the page of one customer, which may approve what the clerk asks it; a server component calls it. */
export async function tokenFor(thread: string): Promise<string> {
  await skein.threads.create({ agent: 'clerk', id: thread })
  const request = new Request(`https://shop.example/api/skein/threads/${thread}/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'customer', scopes: ['read', 'write', 'approve'], ttlMs: 3_600_000 }),
  })
  const { token } = (await (await POST(request)).json()) as { token: string }
  return token
}

export async function close(): Promise<void> {
  handler.close()
  await skein.close()
}
