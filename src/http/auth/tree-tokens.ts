/**
 * Tree tokens: a right to one tree for some time, for a browser or another service. They are stateless: who they are
 * for stands in the token, signed with the server's secret.
 *
 * - A token is void when it has expired, when the secret has changed, and when its tree was deleted, also where another
 *   tree has the same id now.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../../core/clock.js'
import type { SkeinClient } from '../../index.js'
import type { Principal, Scope } from './principal.js'

const prefix = 'skt_'

const claimsSchema = z.object({
  name: z.string().min(1),
  root: z.string(),
  scopes: z.array(z.enum(['read', 'write', 'approve'])),
  /** When the tree was created: another tree of the same id is another tree. */
  born: z.number(),
  /** Milliseconds since 1970. */
  ends: z.number(),
})

export interface TreeTokenRequest {
  readonly root: string
  readonly name: string
  readonly scopes: readonly Exclude<Scope, 'admin'>[]
  readonly ttlMs: number
}

interface TokenOptions {
  readonly secret: string
  readonly clock: Clock
}

export interface TreeTokens {
  isToken(text: string): boolean
  mint(request: TreeTokenRequest): Promise<{ readonly token: string; readonly ends: number }>
  /** Undefined: void. */
  verify(token: string): Promise<Principal | undefined>
}

export function createTreeTokens(skein: SkeinClient, { secret, clock }: TokenOptions): TreeTokens {
  const sign = (text: string): Buffer => createHmac('sha256', secret).update(text).digest()
  const bornAt = async (root: string): Promise<number> => (await (await skein.threads.get(root)).info()).createdAt
  return {
    isToken: (text) => text.startsWith(prefix),
    async mint({ root, name, scopes, ttlMs }) {
      const ends = clock.now() + ttlMs
      const claims = { name, root, scopes, born: await bornAt(root), ends }
      const text = Buffer.from(JSON.stringify(claims)).toString('base64url')
      return { token: `${prefix}${text}.${sign(text).toString('base64url')}`, ends }
    },
    async verify(token) {
      const [text = '', signature = '', ...rest] = token.slice(prefix.length).split('.')
      const sent = Buffer.from(signature, 'base64url')
      const expected = sign(text)
      if (rest.length > 0 || sent.length !== expected.length || !timingSafeEqual(sent, expected)) return undefined
      const checked = claimsSchema.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString()))
      if (!checked.success || checked.data.ends <= clock.now()) return undefined
      const { name, root, scopes, born, ends } = checked.data
      const alive = await bornAt(root).catch(() => undefined)
      return alive === born ? { name, scopes, roots: [root], ends } : undefined
    },
  }
}
