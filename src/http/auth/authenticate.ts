/**
 * Authentication: who a request comes from. A bearer key is compared by its hash in constant time; a tree token is
 * checked by its signature; or the app's own function says who it is.
 *
 * - There is no default: a server that anyone may use must say so (`auth: 'none'`).
 * - A wrong key and no key get the same answer. An empty key is no key, on both sides.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../../core/clock.js'
import { SkeinError } from '../../index.js'
import type { SkeinClient } from '../../index.js'
import { HttpProblem } from '../problem.js'
import { everyone, scopes } from './principal.js'
import type { Principal, Scope } from './principal.js'
import { createTreeTokens } from './tree-tokens.js'
import type { TreeTokens } from './tree-tokens.js'

export interface ApiKey {
  /** Recorded as who decided. */
  readonly name: string
  /** `hashKey(key)`: the key itself is nowhere. */
  readonly sha256: string
  readonly scopes: readonly Scope[]
  /** Only these trees, by their roots. */
  readonly roots?: readonly string[]
  /** Only trees with one of these tags: what a tenant's key creates gets them. */
  readonly tags?: readonly string[]
}

export type Auth =
  /** Anyone who reaches the server may do anything. */
  | 'none'
  | {
      readonly keys: readonly ApiKey[]
      /** Signs tree tokens, at least 32 characters. Default: a random one, so tokens end with the process. */
      readonly secret?: string
    }
  /** Undefined: not known. */
  | ((request: Request) => Principal | undefined | Promise<Principal | undefined>)

const keysSchema = z.strictObject({
  keys: z.array(
    z.strictObject({
      name: z.string().min(1).max(128),
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the key in hex: hashKey(key)')
        .refine((hash) => hash !== digestOf(''), 'is the hash of an empty key: is the variable that has the key set?'),
      scopes: z.array(z.enum(['read', 'write', 'approve', 'admin'])).min(1),
      roots: z.array(z.string()).optional(),
      tags: z.array(z.string()).min(1).optional(),
    }),
  ),
  secret: z.string().min(32, 'must have at least 32 characters').optional(),
})

/** What is wrong with it, in words; undefined: nothing. */
function wrongAuth(auth: Auth): string | undefined {
  if (auth === 'none' || typeof auth === 'function') return undefined
  if (typeof auth !== 'object' || auth === null)
    return "must be 'none', { keys, secret? } or a function that says who a request comes from"
  const { error } = keysSchema.safeParse(auth)
  return error ? z.prettifyError(error) : sharedName(auth.keys)
}

/** Two keys may have one name while the old one is replaced; who they are for must then be the same. */
function sharedName(keys: readonly ApiKey[]): string | undefined {
  const bindings = new Map<string, string>()
  for (const { name, roots = [], tags = [] } of keys) {
    const binding = JSON.stringify([roots, tags])
    if ((bindings.get(name) ?? binding) !== binding)
      return `two keys are called ${JSON.stringify(name)} and are bound to different roots or tags; name them apart`
    bindings.set(name, binding)
  }
  return undefined
}

export interface Authenticator {
  /** Throws 401. */
  principalOf(request: Request): Promise<Principal>
  /** Absent where the app itself says who asks. */
  readonly tokens?: TreeTokens
  /** A tag is a right: who is bound to tags gives none that others are bound to, nor one of which that is not known. */
  mayTag(principal: Principal, tag: string): boolean
}

/** Tags that the server itself gives, to say by which protocol a thread began: no right to anything. */
const ofFaces = /^(openai|mcp|a2a|a2a-context:[^]*)$/

export function createAuthenticator(skein: SkeinClient, auth: Auth | undefined, clock: Clock): Authenticator {
  if (auth === undefined)
    throw new SkeinError(
      'BAD_OPTION',
      'createHandler: say who may use it: auth: { keys: [{ name, sha256: hashKey(key), scopes }] }, a function, ' +
        "or 'none'",
    )
  const wrong = wrongAuth(auth)
  if (wrong !== undefined) throw new SkeinError('BAD_OPTION', `createHandler: auth: ${wrong}`)
  if (auth === 'none') return { principalOf: async () => everyone, mayTag: () => true }
  const isOwn = ({ tags }: Principal, tag: string): boolean => tags === undefined || tags.includes(tag)
  if (typeof auth === 'function')
    return {
      principalOf: async (request) => checkPrincipal(await auth(request)),
      mayTag: (principal, tag) => isOwn(principal, tag) || ofFaces.test(tag),
    }
  const bound = new Set(auth.keys.flatMap(({ tags = [] }) => tags))
  const tokens = createTreeTokens(skein, { clock, secret: auth.secret ?? randomBytes(32).toString('hex') })
  const keys = auth.keys.map((key) => ({ key, digest: Buffer.from(key.sha256, 'hex') }))
  return {
    tokens,
    mayTag: (principal, tag) => isOwn(principal, tag) || !bound.has(tag),
    async principalOf(request) {
      const sent = bearerOf(request)
      if (sent === undefined) throw unauthenticated()
      if (tokens.isToken(sent)) return (await tokens.verify(sent)) ?? deny()
      const digest = createHash('sha256').update(sent).digest()
      // All keys are compared, so that the time says nothing about which one came close.
      const matching = keys.filter((each) => timingSafeEqual(each.digest, digest))
      return matching[0]?.key ?? deny()
    },
  }
}

function deny(): never {
  throw unauthenticated()
}

function unauthenticated(): HttpProblem {
  return new HttpProblem(
    { status: 401, code: 'UNAUTHENTICATED' },
    'this needs a key that the server knows: send the header "authorization: Bearer <key>"',
    { headers: { 'www-authenticate': 'Bearer' } },
  )
}

/** Where browsers cannot set a header (EventSource), the key may come as the password of basic authentication. */
function bearerOf(request: Request): string | undefined {
  const [, kind = '', value = ''] = /^(bearer|basic) +(.+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
  if (kind.toLowerCase() === 'bearer') return value.trim() || undefined
  if (kind.toLowerCase() !== 'basic') return undefined
  const text = Buffer.from(value, 'base64').toString()
  // No password is no key, whatever hashes the server was given.
  return text.includes(':') ? text.slice(text.indexOf(':') + 1) || undefined : undefined
}

const principalSchema = z.object({
  name: z.string().min(1),
  scopes: z.array(z.enum(['read', 'write', 'approve', 'admin'])),
  roots: z.array(z.string()).optional(),
  tags: z.array(z.string()).optional(),
  ends: z.number().optional(),
})

/** The app's own function may return anything. */
function checkPrincipal(principal: Principal | undefined): Principal {
  if (principal === undefined) throw unauthenticated()
  const checked = principalSchema.safeParse(principal)
  if (checked.success) return principal
  throw new SkeinError(
    'BAD_OPTION',
    `auth gave no principal: ${z.prettifyError(checked.error)}; scopes: ${scopes.join(', ')}`,
  )
}

/** What is kept of a key. An empty one is a variable that is not set, and would let everyone in. */
export function hashKey(key: string): string {
  // Programs without types give it a variable of the environment as it is.
  const given: unknown = key
  const isText = typeof given === 'string'
  if (!isText || given.trim() === '')
    throw new SkeinError(
      'BAD_OPTION',
      `hashKey: the key is ${isText ? 'empty' : typeof given}; is the environment variable that has it set?`,
    )
  return digestOf(key)
}

function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/** A new key: show it once, keep its hash. */
export function createKey(): { readonly key: string; readonly sha256: string } {
  const key = `sk_${randomBytes(24).toString('base64url')}`
  return { key, sha256: hashKey(key) }
}
