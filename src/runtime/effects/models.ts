/**
 * Models by name, made when first needed: the definition's model with its retries, then its fallbacks with theirs.
 */
import type { App } from '../../agent/app.js'
import type { ModelDefinition } from '../../agent/define.js'
import type { Random, Clock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import { withNativeOutput } from '../../models/native-output.js'
import { toModel } from '../../models/to-model.js'
import { withFallback } from '../../models/retry/fallback.js'
import type { Model, ModelRequest } from '../../models/port.js'
import { withRetries } from '../../models/retry/retry.js'
import { defaultTimeLimits, withTimeLimits } from '../../models/retry/time-limits.js'
import type { ModelGates } from './model-gates.js'
import type { AgentSetup } from '../resolve/agent-setup.js'

export interface ModelServices {
  readonly clock: Clock
  readonly random: Random
  readonly gates: ModelGates
}

export function createModels(
  app: App,
  { clock, random, gates }: ModelServices,
): (setup: AgentSetup) => Model | Promise<Model> {
  const made = new Map<string, Model | Promise<Model>>()

  async function make(definition: ModelDefinition): Promise<Model> {
    const chain = [definition, ...(definition.fallback ?? []).flatMap((name) => app.models.get(name) ?? [])]
    const models = await Promise.all(chain.map(persistent))
    const [only] = models
    return models.length === 1 && only ? only : withFallback(models)
  }

  async function persistent(definition: ModelDefinition): Promise<Model> {
    const { name, model: source, maxRetries, timeouts, structuredOutput } = definition
    const model = withNativeOutput(await toModel(source), structuredOutput)
    const named: Model = { name, call: (request, options) => model.call(withSettings(definition, request), options) }
    const timely = withTimeLimits(named, { ...defaultTimeLimits, ...timeouts }, clock)
    return withRetries(timely, { clock, random, gate: gates.gate(name), ...defined({ maxRetries }) })
  }

  return ({ model: definition }) => {
    const known = made.get(definition.name)
    if (known) return known
    const model = make(definition)
    made.set(definition.name, model)
    // A model that could not be made is tried again with the next turn.
    model.then(
      (ready) => made.set(definition.name, ready),
      () => made.delete(definition.name),
    )
    return model
  }
}

/** Settings of the model, under those of the prompt. */
function withSettings(definition: ModelDefinition, request: ModelRequest): ModelRequest {
  const { temperature, maxOutputTokens, promptCache, media, providerOptions } = definition
  if ([temperature, maxOutputTokens, promptCache, media, providerOptions].every((setting) => setting === undefined))
    return request
  return {
    ...defined({ temperature, maxOutputTokens, promptCache, media: media || undefined }),
    ...request,
    ...(providerOptions && { providerOptions: mergeOptions(providerOptions, request.providerOptions) }),
  }
}

type ProviderOptions = NonNullable<ModelRequest['providerOptions']>

function mergeOptions(ofModel: ProviderOptions, ofPrompt: ProviderOptions = {}): ProviderOptions {
  const all: Record<string, ProviderOptions[string]> = { ...ofModel }
  for (const [provider, settings] of Object.entries(ofPrompt)) all[provider] = { ...all[provider], ...settings }
  return all
}
