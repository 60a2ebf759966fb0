/**
 * What is a definition, and plain objects that were meant as one: they have its fields but no `kind`, because they were
 * not passed to `defineTool`, `definePrompt`, `defineAgent` or `defineHook` (DE1: a definition is known by its `kind`).
 */
import { isObject } from '../core/json.js'
import type { Definition } from './define.js'

export interface Lookalike {
  readonly kind: 'tool' | 'prompt' | 'agent' | 'hook'
  /** "looks like a tool: wrap it in defineTool" */
  readonly says: string
}

interface Shape extends Lookalike {
  /** Whether the value has the fields that distinguish this kind. */
  is(value: { readonly [key: string]: unknown }): boolean
}

const shapes: readonly Shape[] = [
  {
    kind: 'tool',
    says: 'looks like a tool: wrap it in defineTool',
    is: ({ args, execute, onToolCalled }) =>
      isObject(args) && (execute === false || typeof execute === 'function' || typeof onToolCalled === 'function'),
  },
  {
    kind: 'prompt',
    says: 'looks like a prompt: wrap it in definePrompt',
    is: ({ prompt, model }) => (typeof prompt === 'string' || Array.isArray(prompt)) && typeof model === 'string',
  },
  {
    kind: 'agent',
    says: 'looks like an agent: wrap it in defineAgent',
    is: ({ type, sideA }) => (type === 'ai_human' || type === 'dual_ai') && isObject(sideA),
  },
  {
    kind: 'hook',
    says: 'looks like a hook: wrap it in defineHook',
    is: ({ on, run }) => typeof on === 'string' && typeof run === 'function',
  },
]

export function lookalike(value: unknown): Lookalike | undefined {
  return isObject(value) && value['kind'] === undefined ? shapes.find(({ is }) => is(value)) : undefined
}

const kinds: ReadonlySet<string> = new Set<Definition['kind']>([
  'tool',
  'prompt',
  'model',
  'agent',
  'hook',
  'endpoint',
  'mcp',
  'skillset',
])

/** Workers ask it of all that an app exports, and know nothing of forms. */
export function isDefinition(value: unknown): value is Definition {
  return (
    isObject(value) &&
    typeof value['kind'] === 'string' &&
    kinds.has(value['kind']) &&
    typeof value['name'] === 'string'
  )
}
