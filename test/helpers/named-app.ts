/**
 * Definitions that mention names of an app, right and wrong, for a compiler that knows the names. They are a text: in
 * a file of this project, the names would be those of all its files.
 */

/** `skein.d.ts`, as `skein types` writes it for an app of two tools. */
export const declaration = `import 'skein'
declare module 'skein' {
  interface AppNames {
    "agent team": true
    "model fast": true
    "prompt lead": true
    "skill code-review": true
    "tool count": true
    "tool read": true
  }
}
`

/** Each line that ends in `// wrong` has a name that the app does not have. */
export const mentions = `import { defineAgent, defineHook, defineModel, definePrompt, defineTool } from 'skein'
import { z } from 'zod'
const model = () => undefined
export const count = defineTool({ name: 'count', args: z.object({}), uses: ['read'], execute: () => 1 })
export const good = [
  definePrompt({ prompt: 'x', model: 'fast', tools: ['read', count, { name: 'team' }, 'lead'], skills: ['code-review'] }),
  definePrompt({ prompt: [{ type: 'include', prompt: 'lead' }], model: 'fast', toolChoice: { tool: 'read' }, skills: true }),
  defineModel({ model, fallback: ['fast'] }),
  defineAgent({ type: 'ai_human', sideA: { prompt: 'lead', stopTool: 'count', sessionStop: { name: 'count' } } }),
  defineHook({ on: 'before_call', tools: ['read', 'team', 'lead'], run: ({ args }) => (args['a'] ? { refuse: 'no' } : undefined) }),
  defineHook({ on: 'after_call', tools: [count], run: () => undefined }),
  defineHook({ on: 'before_call', run: ({ args }) => ({ args }) }),
]
export const bad = [
  definePrompt({ prompt: 'x', model: 'fats' }), // wrong
  definePrompt({ prompt: 'x', model: 'fast', tools: ['raed'] }), // wrong
  definePrompt({ prompt: 'x', model: 'fast', tools: [{ name: 'taem' }] }), // wrong
  definePrompt({ prompt: 'x', model: 'fast', toolChoice: { tool: 'raed' } }), // wrong
  definePrompt({ prompt: 'x', model: 'fast', skills: ['code-reviw'] }), // wrong
  definePrompt({ prompt: [{ type: 'include', prompt: 'laed' }], model: 'fast' }), // wrong
  defineModel({ model, fallback: ['fats'] }), // wrong
  defineAgent({ type: 'ai_human', sideA: { prompt: 'laed' } }), // wrong
  defineAgent({ type: 'ai_human', sideA: { prompt: 'lead', stopTool: 'conut' } }), // wrong
  defineTool({ args: z.object({}), uses: ['raed'], execute: () => 1 }), // wrong
  defineHook({ on: 'before_call', tools: ['raed'], run: () => undefined }), // wrong
]
`

export function linesOf(text: string, marked: string): readonly number[] {
  return text.split('\n').flatMap((line, index) => (line.endsWith(marked) ? [index + 1] : []))
}

/** The lines of `names.ts` that a compiler complains of. */
export function complaintsIn(output: string): readonly number[] {
  return [...new Set([...output.matchAll(/^names\.ts[(:](\d+)/gm)].map(([, line]) => Number(line)))]
}
