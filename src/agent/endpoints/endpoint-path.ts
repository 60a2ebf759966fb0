/**
 * The routes of endpoints: the name of one is its path with the method after it (`notes/[id].post`; none: GET). `index`
 * is the folder itself, `[name]` stands for one part and `[*]`, at the end, for all that follow.
 *
 * - Of several that match, a static part counts more than `[name]`, and that more than `[*]`, from left to right.
 */
import type { EndpointDefinition, EndpointMethod, EndpointParams } from './define-endpoint.js'

interface Part {
  readonly kind: 'static' | 'dynamic' | 'rest'
  readonly name: string
}

export interface EndpointRoute {
  readonly method: EndpointMethod
  readonly parts: readonly Part[]
  readonly endpoint: EndpointDefinition
}

const ending = /^(.*?)(?:\.(get|post|put|patch|delete))?$/s
const staticPart = /^[\w~-][\w.~-]*$/
const dynamicPart = /^\[([A-Za-z_]\w*)\]$/

export function routeOf(endpoint: EndpointDefinition): EndpointRoute {
  const [, path = '', method = 'get'] = ending.exec(endpoint.name) ?? []
  const names = path.split('/')
  if (names.at(-1) === 'index') names.pop()
  return { method: method as EndpointMethod, parts: names.map(partOf), endpoint }
}

function partOf(name: string): Part {
  if (name === '[*]') return { kind: 'rest', name: '*' }
  const [, dynamic] = dynamicPart.exec(name) ?? []
  return dynamic === undefined ? { kind: 'static', name } : { kind: 'dynamic', name: dynamic }
}

/** What is wrong with the name of an endpoint. */
export function endpointMistakes(endpoint: EndpointDefinition): readonly string[] {
  const { parts } = routeOf(endpoint)
  const names = parts.filter(({ kind }) => kind !== 'static').map(({ name }) => name)
  const wrong = parts.filter(({ kind, name }) => kind === 'static' && !staticPart.test(name))
  return [
    ...wrong.map(({ name }) => `${JSON.stringify(name)} is no part of a path: letters, digits, "_-.~", or [name]`),
    ...(parts.slice(0, -1).some(({ kind }) => kind === 'rest') ? ['[*] stands at the end'] : []),
    ...(new Set(names).size < names.length ? ['two parts of its path have one name'] : []),
  ]
}

/** Where two endpoints are equal in this, they have one route. */
export function routeKey({ method, parts }: EndpointRoute): string {
  const path = parts.map(({ kind, name }) => (kind === 'static' ? name : `[${kind}]`))
  return `${method.toUpperCase()} /${path.join('/')}`
}

const ranks = { static: 0, dynamic: 1, rest: 2 } as const

/** The one that counts more comes first. */
export function byPrecedence(one: EndpointRoute, other: EndpointRoute): number {
  for (const [index, { kind }] of one.parts.entries()) {
    const theirs = other.parts[index]
    if (!theirs) return 1
    if (ranks[kind] !== ranks[theirs.kind]) return ranks[kind] - ranks[theirs.kind]
  }
  return one.parts.length - other.parts.length
}

/** Undefined where the path is not of this route. */
export function matchRoute({ parts }: EndpointRoute, path: readonly string[]): EndpointParams | undefined {
  const params: Record<string, string> = {}
  for (const [index, { kind, name }] of parts.entries()) {
    const part = path[index]
    if (part === undefined) return undefined
    if (kind === 'rest') return { ...params, [name]: path.slice(index).join('/') }
    if (kind === 'static' && part !== name) return undefined
    if (kind === 'dynamic') params[name] = part
  }
  return path.length === parts.length ? params : undefined
}
