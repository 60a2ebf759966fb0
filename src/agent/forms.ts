/**
 * The form of every definition, field by field. What of it is wrong in a definition is told by checks/form.ts. Owns
 * the schemas of fields, each of which is made when a definition first has its field.
 */
import { z } from 'zod'
import { isVariableName } from '../core/env.js'
import { budgetSchema } from '../core/budget.js'
import { FieldForm } from '../core/options.js'
import { isObject } from '../core/json.js'
import type { Schema } from '../core/schema.js'
import { isSchema, lazy } from '../core/schema.js'
import { contextForm, tokenCount } from './context-limits.js'
import type { Definition } from './define.js'
import { providerRunSchema } from './provider-tool.js'
import { stopForms } from './stop.js'

const name = lazy(() =>
  z.string().regex(/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/, {
    error: ({ input }) =>
      input === ''
        ? 'it has none; only the file of a folder app can name its definition'
        : 'a name is a letter, then up to 63 letters, digits, "_" or "-"',
  }),
)
const schema = lazy(() => z.custom<Schema>(isSchema, 'must be a zod 4 schema'))
const body = lazy(() => z.custom<() => unknown>((value) => typeof value === 'function', 'must be a function'))
const choice = lazy(() => z.union([z.enum(['auto', 'none', 'required']), z.strictObject({ tool: z.string() })]))
export const nameless =
  'the definition that is named here has no name yet: its file will name it. Write that name here, or give it to ' +
  'the definition too'
/** The name of another definition. */
const other = lazy(() => z.string().min(1, nameless))
const count = lazy(() => z.number().int().min(0))
const hooks = lazy(() =>
  z
    .array(other())
    .refine((list) => new Set(list).size === list.length, 'a hook is named twice')
    .optional(),
)

const variableName = lazy(() =>
  z
    .string()
    .refine(isVariableName, 'a variable is written in capitals, digits and "_", and does not begin with a digit'),
)
const variable = lazy(() =>
  z.strictObject({
    name: variableName(),
    type: z.enum(['text', 'secret']).optional(),
    required: z.boolean().optional(),
    default: z.string().optional(),
    scoped: z.boolean().optional(),
    description: z.string().optional(),
  }),
)
const variables = lazy(() =>
  z
    .array(variable())
    .refine((list) => new Set(list.map(({ name: own }) => own)).size === list.length, 'a variable is named twice')
    .optional(),
)
const env = lazy(() => z.record(variableName(), z.string()).optional())

const retry = lazy(() =>
  z.strictObject({
    maxRetries: count().optional(),
    backoffMs: z.number().min(0).optional(),
    shouldRetry: body().optional(),
    circuitBreakerThreshold: z.number().int().min(1).optional(),
  }),
)

const supervision = lazy(() =>
  z.strictObject({
    strategy: z.literal('one_for_one'),
    maxRestarts: count(),
    withinMs: z.number().positive().optional(),
  }),
)

/** An agent or a prompt among tools; checks/calls.ts knows which fields belong to which. */
const callable = lazy(() =>
  z.strictObject({
    name: other(),
    includeTextResponse: z.boolean().optional(),
    includeToolCalls: z.boolean().optional(),
    includeErrors: z.boolean().optional(),
    initUserMessageProperty: z.string().optional(),
    initAttachmentsProperty: z.string().optional(),
    initAgentNameProperty: z.string().optional(),
    blocking: z.boolean().optional(),
    optional: variableName().optional(),
    immediate: z
      .union([
        z.boolean(),
        z.strictObject({
          nameEnv: variableName().optional(),
          descriptionEnv: variableName().optional(),
          scopedEnv: z.array(variableName()).optional(),
        }),
      ])
      .optional(),
    files: z.literal('fork').optional(),
    budget: budgetSchema.optional(),
    supervision: supervision().optional(),
    resumable: z
      .union([
        z.literal(false),
        z.strictObject({
          receives_messages: z.enum(['side_a', 'side_b']),
          maxInstances: z.number().int().positive().optional(),
          parentCommunication: z.enum(['implicit', 'explicit']).optional(),
        }),
      ])
      .optional(),
  }),
)

const part = lazy(() =>
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('text'), content: z.string() }),
    z.strictObject({ type: z.literal('include'), prompt: z.string() }),
    z.strictObject({ type: z.literal('env'), property: variableName() }),
  ]),
)
const property = lazy(() => z.string().min(1))
const sessionTool = lazy(() =>
  z.union(
    [
      z.string(),
      z.strictObject({
        name: z.string(),
        messageProperty: property().optional(),
        attachmentsProperty: property().optional(),
      }),
    ],
    'must be the name of a tool or { name, messageProperty?, attachmentsProperty? }',
  ),
)
const side = lazy(() =>
  z.strictObject({
    prompt: other(),
    label: z.string().min(1).optional(),
    stopOnResponse: z.boolean().optional(),
    stopTool: other().optional(),
    stopToolResponseProperty: property().optional(),
    maxSteps: z.number().int().positive().optional(),
    sessionStop: sessionTool().optional(),
    sessionFail: sessionTool().optional(),
    sessionStatus: sessionTool().optional(),
  }),
)

/** Of models and of prompts. */
const settings = {
  temperature: () => z.number().min(0).optional(),
  maxOutputTokens: () => z.number().int().positive().optional(),
  promptCache: () => z.boolean().optional(),
  providerOptions: () => z.record(z.string(), z.record(z.string(), z.json())).optional(),
}

const price = lazy(() => z.number().min(0))

export const forms = {
  tool: new FieldForm(
    {
      kind: () => z.literal('tool'),
      name,
      description: () => z.string().optional(),
      args: schema,
      parameters: () => z.record(z.string(), z.json()).optional(),
      execute: () =>
        z
          .union([z.literal(false), body()], 'must be a function (state, args) => result, an async generator, or false')
          .optional(),
      onToolCalled: () => body().optional(),
      onResponseReceived: () => body().optional(),
      outputSchema: () => schema().optional(),
      eventSchema: () => schema().optional(),
      contextSchema: () => schema().optional(),
      sharedSchema: () => schema().optional(),
      variables,
      needsApproval: () =>
        z.union([z.boolean(), body()], 'must be true, false or a function (args, state) => boolean').optional(),
      approvalPrompt: () => z.string().optional(),
      approvalDefaults: () => z.json().optional(),
      approvalDeadline: () =>
        z.strictObject({ afterMs: z.number().positive(), decision: z.enum(['approve', 'reject']) }).optional(),
      maxExecutionsPerRun: () => count().nullable().optional(),
      cache: () =>
        z
          .union(
            [z.boolean(), z.strictObject({ keyFn: body().optional(), ttlMs: z.number().positive().optional() })],
            'must be true, false or { keyFn?, ttlMs? }',
          )
          .optional(),
      retry: () => retry().optional(),
      repeats: () => z.boolean().optional(),
      provider: () => providerRunSchema().optional(),
      timeoutMs: () => z.number().positive().optional(),
      sideEffect: () => z.boolean().optional(),
      commutes: () => z.boolean().optional(),
      idempotent: () => z.boolean().optional(),
      probe: () => body().optional(),
      onUnknown: () => z.enum(['tell', 'ask', 'retry']).optional(),
      revert: () => body().optional(),
      retention: () => z.enum(['keep', 'archive']).optional(),
      toModelOutput: () => body().optional(),
      uses: () => z.array(other()).optional(),
      cpu: () => z.boolean().optional(),
      where: () => z.enum(['worker', 'host']).optional(),
    },
    { required: ['kind', 'name', 'args'] },
  ),
  prompt: new FieldForm(
    {
      kind: () => z.literal('prompt'),
      name,
      prompt: () =>
        z.union(
          [z.string(), z.array(part())],
          'must be a text, or a list of parts: { type: "text", content }, { type: "include", prompt }, { type: ' +
            '"env", property }',
        ),
      model: other,
      tools: () => z.array(z.union([other(), z.lazy(callable)])).optional(),
      includeChat: () => z.boolean().optional(),
      includePastTools: () => z.boolean().optional(),
      context: () => contextForm().optional(),
      toolChoice: () => choice().optional(),
      hooks,
      parallelToolCalls: () => z.boolean().optional(),
      reasoning: () => z.enum(['low', 'medium', 'high']).optional(),
      ...settings,
      variables,
      env,
      outputSchema: () => schema().optional(),
      ...stopForms,
      requiredSchema: () => schema().optional(),
      skills: () => z.union([z.boolean(), z.array(other())], 'must be true, false or a list of names').optional(),
      exposeAsTool: () => z.boolean().optional(),
      toolDescription: () => z.string().optional(),
    },
    { required: ['kind', 'name', 'prompt', 'model'] },
  ),
  model: new FieldForm(
    {
      kind: () => z.literal('model'),
      name,
      model: () =>
        z.custom(
          (value) => isObject(value) || typeof value === 'function',
          'must be a model or a function that gives one',
        ),
      aliases: () => z.array(z.string().min(1)).optional(),
      fallback: () => z.array(other()).optional(),
      contextTokens: () => tokenCount().min(1_000, 'a model takes 1,000 tokens at least').optional(),
      maxRetries: () => count().optional(),
      media: () => z.boolean().optional(),
      structuredOutput: () => z.enum(['tool', 'native', 'native_with_tools']).optional(),
      timeouts: () =>
        z
          .strictObject({ idleMs: z.number().positive().optional(), totalMs: z.number().positive().optional() })
          .optional(),
      ...settings,
      costPerMillion: () =>
        z
          .strictObject({
            inputUsd: price(),
            outputUsd: price(),
            cachedInputUsd: price().optional(),
            cacheWriteUsd: price().optional(),
          })
          .optional(),
    },
    { required: ['kind', 'name', 'model'] },
  ),
  agent: new FieldForm(
    {
      kind: () => z.literal('agent'),
      name,
      type: () => z.enum(['ai_human', 'dual_ai']),
      sideA: side,
      sideB: () => side().optional(),
      maxSessionTurns: () => z.number().int().positive().optional(),
      hooks,
      variables,
      env,
      exposeAsTool: () => z.boolean().optional(),
      toolDescription: () => z.string().optional(),
      budget: () => budgetSchema.optional(),
      supervision: () => supervision().optional(),
    },
    { required: ['kind', 'name', 'type', 'sideA'] },
  ),
  hook: new FieldForm(
    {
      kind: () => z.literal('hook'),
      name,
      on: () =>
        z.enum([
          'thread_created',
          'subagent_created',
          'message',
          'before_step',
          'after_step',
          'before_call',
          'after_call',
          'stop',
        ]),
      tools: () => z.array(other()).optional(),
      timeoutMs: () => z.number().positive().optional(),
      onError: () => z.enum(['go_on', 'block']).optional(),
      show: () => z.enum(['at_once', 'after']).optional(),
      run: body,
    },
    { required: ['kind', 'name', 'on', 'run'] },
  ),
  endpoint: new FieldForm(
    {
      kind: () => z.literal('endpoint'),
      name: () => z.string().min(1, 'must be its route, as notes/[id].post'),
      summary: () => z.string().optional(),
      scope: () => z.enum(['read', 'write', 'approve', 'admin']).optional(),
      run: body,
    },
    { required: ['kind', 'name', 'run'] },
  ),
  // src/tools/foreign/server.ts checks the rest.
  mcp: new FieldForm(
    { kind: () => z.literal('mcp'), name: () => z.string().min(1) },
    { required: ['kind', 'name'], isLoose: true },
  ),
  skillset: new FieldForm(
    { kind: () => z.literal('skillset'), name: () => z.string().min(1) },
    { required: ['kind', 'name'] },
  ),
} satisfies Readonly<Record<Definition['kind'], FieldForm>>

/** The fields of prompts, agents and their sides. */
export const fieldNames = {
  prompt: () => forms.prompt.names,
  agent: () => forms.agent.names,
  side: () => Object.keys(side().shape),
} as const
