/**
 * Ids of threads that the server makes of what a client chose (an Idempotency-Key, a context), so that what is sent
 * again is one thread. They are of who sent it: another key gets another id from the same choice.
 *
 * - Clients cannot give such an id themselves, or one could take that of another before it comes.
 */
import { createHash } from 'node:crypto'
import type { Principal } from './principal.js'

/** The same parts have the same one. */
export function idHash(...parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

export function derivedId(
  face: 'openai' | 'mcp' | 'a2a',
  { name, roots = [], tags = [] }: Principal,
  ...chosen: readonly unknown[]
): string {
  return `${face}_${idHash([name, roots, tags], chosen)}`
}

export function isDerivedId(id: string): boolean {
  return /^(openai|mcp|a2a)_[0-9a-f]{32}$/.test(id)
}
