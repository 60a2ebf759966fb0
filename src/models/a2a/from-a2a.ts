/**
 * A remote agent of A2A 1.0 as an agent of the app: plain data, three definitions. Nothing is asked until a thread of
 * it has something to say; what speaks the protocol is loaded then.
 */
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt } from '../../agent/define.js'
import type { AgentDefinition, ModelDefinition, PromptDefinition } from '../../agent/define.js'
import { defined } from '../../core/defined.js'
import { checkOptions } from '../../core/options.js'
import { lazy } from '../../core/schema.js'
import type { RemoteAddress } from './remote-agent.js'

export interface A2aAgent extends RemoteAddress {
  /** What it does, for the models that may call it. */
  readonly description: string
  /** Retries after an outage, before the turn fails. Default 4. */
  readonly maxRetries?: number
  /** How long it may be silent (5 minutes), and how long a turn may take (30 minutes). */
  readonly timeouts?: { readonly idleMs?: number; readonly totalMs?: number }
  /** How long to wait before a task is asked for again, where it is not streamed. Default 1,000. */
  readonly pollMs?: number
}

const optionsSchema = lazy(() =>
  z.strictObject({
    name: z.string().min(1),
    url: z.url({ protocol: /^https?$/ }),
    description: z.string().min(1),
    headers: z.union([z.record(z.string(), z.string()), z.function()]).optional(),
    maxRetries: z.number().int().min(0).optional(),
    timeouts: z.strictObject({ idleMs: z.number().optional(), totalMs: z.number().optional() }).optional(),
    pollMs: z.number().int().min(10).optional(),
  }),
)

export function fromA2A(remote: A2aAgent): readonly [AgentDefinition, PromptDefinition, ModelDefinition] {
  checkOptions(optionsSchema(), remote, `fromA2A ${JSON.stringify(remote.name)}`)
  const { name, description, maxRetries, timeouts, pollMs = 1_000, ...address } = remote
  const own = `a2a_${name}`
  return [
    defineAgent({
      name,
      type: 'ai_human',
      sideA: { prompt: own },
      exposeAsTool: true,
      toolDescription: description,
    }),
    definePrompt({ name: own, prompt: `The agent at ${address.url} answers.`, model: own }),
    defineModel({
      name: own,
      model: async () => (await import('./model.js')).createA2aModel({ ...address, name, model: own, pollMs }),
      ...defined({ maxRetries, timeouts }),
    }),
  ]
}
