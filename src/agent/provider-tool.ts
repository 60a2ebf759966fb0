/**
 * Tools that a model's provider runs (D3), such as a web search: named for the model, never run by Skein. What the
 * provider did comes with the reply, is kept with it and sent back.
 */
import { z } from 'zod'
import type { Json } from '../core/json.js'
import { lazy } from '../core/schema.js'

/** The provider's tool, by the id of the provider's package, and its settings. */
export interface ProviderRun {
  /** `anthropic.web_search_20250305`, `openai.web_search`, `google.google_search`, … */
  readonly id: string
  readonly args?: { readonly [setting: string]: Json }
}

/** The parameter of `defineTool` for a tool that the provider runs. */
export interface ProviderTool {
  /** May be left out in a file of a folder app, which names its definition. */
  readonly name?: string
  /** For people: the model knows its provider's tools. */
  readonly description?: string
  readonly provider: ProviderRun
}

/** The provider checks the args of its own calls. */
export const providerArgs = z.looseObject({})

export const providerRunSchema = lazy(() =>
  z.strictObject({
    id: z.string().regex(/^[\w-]+\.[\w.-]+$/, 'must be the id of a provider’s tool: <provider>.<tool>'),
    args: z.record(z.string(), z.json()).optional(),
  }),
)
