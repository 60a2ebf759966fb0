/**
 * What kind of tool a definition makes (D3), and how it acts on the world (T10), read off its fields.
 *
 * - A tool has a side effect if it says so or if a tool that it may use does; it is free of side effects only if it
 *   and all that it may use say so.
 */
import { isObject } from '../core/json.js'
import type { ToolDefinition } from './define.js'

export type ToolKind = 'function' | 'generator' | 'manual' | 'human' | 'provider'

export function kindOf(tool: ToolDefinition): ToolKind {
  if (tool.provider) return 'provider'
  if (tool.execute === false) return 'manual'
  if (typeof tool.execute === 'function')
    return tagOf(tool.execute) === 'AsyncGeneratorFunction' ? 'generator' : 'function'
  return 'human'
}

/** The class that JavaScript gives a function: `AsyncFunction`, `GeneratorFunction`, … */
export function tagOf(body: unknown): string {
  return Object.prototype.toString.call(body).slice('[object '.length, -1)
}

export interface ToolEffect {
  /** Undefined: neither it nor anything it uses has a side effect, and not all of them say that they have none. */
  readonly sideEffect: boolean | undefined
  readonly commutes: boolean
  readonly idempotent: boolean
}

/** Idempotency is not inherited: a body may call an idempotent tool differently the second time. */
export function effectOf(
  tool: ToolDefinition,
  app: { readonly tools: ReadonlyMap<string, ToolDefinition> },
): ToolEffect {
  const used = usedBy(tool, app.tools)
  const acting = [tool, ...used].filter(({ sideEffect }) => sideEffect === true)
  if (acting.length > 0)
    return {
      sideEffect: true,
      commutes: tool.commutes ?? acting.every(({ commutes }) => commutes === true),
      idempotent: tool.idempotent ?? false,
    }
  const free = [tool, ...used].every(({ sideEffect }) => sideEffect === false)
  return { sideEffect: free ? false : undefined, commutes: false, idempotent: true }
}

/** Whether every tool that it may use, directly or not, is defined. */
export function isComplete(
  tool: ToolDefinition,
  { tools }: { readonly tools: ReadonlyMap<string, ToolDefinition> },
): boolean {
  return [tool, ...usedBy(tool, tools)].every(({ uses = [] }) => uses.every((name) => tools.has(name)))
}

/** All tools that it may use, directly or not. */
function usedBy(tool: ToolDefinition, tools: ReadonlyMap<string, ToolDefinition>): ReadonlySet<ToolDefinition> {
  const found = new Set<ToolDefinition>()
  const visit = ({ uses = [] }: ToolDefinition): void => {
    for (const name of uses) {
      const used = tools.get(name)
      if (!used || used === tool || found.has(used)) continue
      found.add(used)
      visit(used)
    }
  }
  visit(tool)
  return found
}

export interface ToolMetadata {
  readonly name: string
  readonly kind: ToolKind
  /** Its own; a side effect of a tool that it uses is known only within an app. */
  readonly sideEffect: boolean
  readonly idempotent: boolean
  readonly commutes: boolean
  readonly onUnknown: 'tell' | 'ask' | 'retry'
  readonly cpu: boolean
  readonly where: 'worker' | 'host'
  readonly uses: readonly string[]
}

/** The fields of a tool with defaults filled in; null for anything that is no tool. */
export function toolMetadata(tool: unknown): ToolMetadata | null {
  if (!isTool(tool)) return null
  const {
    name,
    sideEffect = false,
    commutes = false,
    idempotent = !sideEffect,
    onUnknown = 'tell',
    cpu = false,
    where = 'worker',
    uses = [],
  } = tool
  return { name, kind: kindOf(tool), sideEffect, idempotent, commutes, onUnknown, cpu, where, uses }
}

function isTool(value: unknown): value is ToolDefinition {
  if (!isObject(value) || value['kind'] !== 'tool' || typeof value['name'] !== 'string') return false
  const { execute, onToolCalled, provider } = value
  return isObject(provider) || execute === false || typeof execute === 'function' || typeof onToolCalled === 'function'
}
