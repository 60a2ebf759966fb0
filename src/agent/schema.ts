/**
 * The form of every definition, field by field. Fields that depend on one another are checked in checks/tools.ts and
 * checks/agents.ts, names in checks/mentions.ts.
 *
 * - An unknown field is a mistake, reported with the nearest known field.
 * - One cause is one mistake: a field under the name that another library uses is reported with ours, which is then
 *   not reported as missing.
 */
import { z } from 'zod'
import { isVariableName } from '../core/env.js'
import { budgetSchema } from '../core/budget.js'
import { isObject } from '../core/json.js'
import type { Schema } from '../core/schema.js'
import { isSchema } from '../core/schema.js'
import { contextForm, tokenCount } from './context-limits.js'
import type { Definition } from './define.js'
import { misnamedFields } from './checks/foreign-fields.js'
import { lookalike } from './lookalike.js'
import { isNamed } from './naming.js'
import { nearest } from './nearest.js'
import { providerRunSchema } from './provider-tool.js'
import { stopForms } from './stop.js'

const name = z.string().regex(/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/, {
  error: ({ input }) =>
    input === ''
      ? 'it has none; only the file of a folder app can name its definition'
      : 'a name is a letter, then up to 63 letters, digits, "_" or "-"',
})
const schema = z.custom<Schema>(isSchema, 'must be a zod 4 schema')
const body = z.custom<() => unknown>((value) => typeof value === 'function', 'must be a function')
const choice = z.union([z.enum(['auto', 'none', 'required']), z.strictObject({ tool: z.string() })])
const nameless =
  'the definition that is named here has no name yet: its file will name it. Write that name here, or give it to ' +
  'the definition too'
/** The name of another definition. */
const other = z.string().min(1, nameless)
const count = z.number().int().min(0)
const hooks = z
  .array(other)
  .refine((list) => new Set(list).size === list.length, 'a hook is named twice')
  .optional()

const variableName = z
  .string()
  .refine(isVariableName, 'a variable is written in capitals, digits and "_", and does not begin with a digit')
const variable = z.strictObject({
  name: variableName,
  type: z.enum(['text', 'secret']).optional(),
  required: z.boolean().optional(),
  default: z.string().optional(),
  scoped: z.boolean().optional(),
  description: z.string().optional(),
})
const variables = z
  .array(variable)
  .refine((list) => new Set(list.map(({ name: own }) => own)).size === list.length, 'a variable is named twice')
  .optional()
const env = z.record(variableName, z.string()).optional()

const retry = z.strictObject({
  maxRetries: count.optional(),
  backoffMs: z.number().min(0).optional(),
  shouldRetry: body.optional(),
  circuitBreakerThreshold: z.number().int().min(1).optional(),
})

const supervision = z.strictObject({
  strategy: z.literal('one_for_one'),
  maxRestarts: count,
  withinMs: z.number().positive().optional(),
})

/** An agent or a prompt among tools; checks/calls.ts knows which fields belong to which. */
const callable = z.strictObject({
  name: other,
  includeTextResponse: z.boolean().optional(),
  includeToolCalls: z.boolean().optional(),
  includeErrors: z.boolean().optional(),
  initUserMessageProperty: z.string().optional(),
  initAttachmentsProperty: z.string().optional(),
  initAgentNameProperty: z.string().optional(),
  blocking: z.boolean().optional(),
  optional: variableName.optional(),
  immediate: z
    .union([
      z.boolean(),
      z.strictObject({
        nameEnv: variableName.optional(),
        descriptionEnv: variableName.optional(),
        scopedEnv: z.array(variableName).optional(),
      }),
    ])
    .optional(),
  files: z.literal('fork').optional(),
  budget: budgetSchema.optional(),
  supervision: supervision.optional(),
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
})

const part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), content: z.string() }),
  z.strictObject({ type: z.literal('include'), prompt: z.string() }),
  z.strictObject({ type: z.literal('env'), property: variableName }),
])
const property = z.string().min(1)
const sessionTool = z.union(
  [
    z.string(),
    z.strictObject({
      name: z.string(),
      messageProperty: property.optional(),
      attachmentsProperty: property.optional(),
    }),
  ],
  'must be the name of a tool or { name, messageProperty?, attachmentsProperty? }',
)
const side = z.strictObject({
  prompt: other,
  label: z.string().min(1).optional(),
  stopOnResponse: z.boolean().optional(),
  stopTool: other.optional(),
  stopToolResponseProperty: property.optional(),
  maxSteps: z.number().int().positive().optional(),
  sessionStop: sessionTool.optional(),
  sessionFail: sessionTool.optional(),
  sessionStatus: sessionTool.optional(),
})

const settings = {
  temperature: z.number().min(0).optional(),
  maxOutputTokens: z.number().int().positive().optional(),
  promptCache: z.boolean().optional(),
  providerOptions: z.record(z.string(), z.record(z.string(), z.json())).optional(),
}

const price = z.number().min(0)

const forms = {
  tool: z.strictObject({
    kind: z.literal('tool'),
    name,
    description: z.string().optional(),
    args: schema,
    parameters: z.record(z.string(), z.json()).optional(),
    execute: z
      .union([z.literal(false), body], 'must be a function (state, args) => result, an async generator, or false')
      .optional(),
    onToolCalled: body.optional(),
    onResponseReceived: body.optional(),
    outputSchema: schema.optional(),
    eventSchema: schema.optional(),
    contextSchema: schema.optional(),
    sharedSchema: schema.optional(),
    variables,
    needsApproval: z
      .union([z.boolean(), body], 'must be true, false or a function (args, state) => boolean')
      .optional(),
    approvalPrompt: z.string().optional(),
    approvalDefaults: z.json().optional(),
    approvalDeadline: z
      .strictObject({ afterMs: z.number().positive(), decision: z.enum(['approve', 'reject']) })
      .optional(),
    maxExecutionsPerRun: count.nullable().optional(),
    cache: z
      .union(
        [z.boolean(), z.strictObject({ keyFn: body.optional(), ttlMs: z.number().positive().optional() })],
        'must be true, false or { keyFn?, ttlMs? }',
      )
      .optional(),
    retry: retry.optional(),
    repeats: z.boolean().optional(),
    provider: providerRunSchema.optional(),
    timeoutMs: z.number().positive().optional(),
    sideEffect: z.boolean().optional(),
    commutes: z.boolean().optional(),
    idempotent: z.boolean().optional(),
    probe: body.optional(),
    onUnknown: z.enum(['tell', 'ask', 'retry']).optional(),
    revert: body.optional(),
    retention: z.enum(['keep', 'archive']).optional(),
    toModelOutput: body.optional(),
    uses: z.array(other).optional(),
    cpu: z.boolean().optional(),
    where: z.enum(['worker', 'host']).optional(),
  }),
  prompt: z.strictObject({
    kind: z.literal('prompt'),
    name,
    prompt: z.union(
      [z.string(), z.array(part)],
      'must be a text, or a list of parts: { type: "text", content }, { type: "include", prompt }, { type: "env", ' +
        'property }',
    ),
    model: other,
    tools: z.array(z.union([other, callable])).optional(),
    includeChat: z.boolean().optional(),
    includePastTools: z.boolean().optional(),
    context: contextForm.optional(),
    toolChoice: choice.optional(),
    hooks,
    parallelToolCalls: z.boolean().optional(),
    reasoning: z.enum(['low', 'medium', 'high']).optional(),
    ...settings,
    variables,
    env,
    outputSchema: schema.optional(),
    ...stopForms,
    requiredSchema: schema.optional(),
    skills: z.union([z.boolean(), z.array(other)], 'must be true, false or a list of names').optional(),
    exposeAsTool: z.boolean().optional(),
    toolDescription: z.string().optional(),
  }),
  model: z.strictObject({
    kind: z.literal('model'),
    name,
    model: z.custom(
      (value) => isObject(value) || typeof value === 'function',
      'must be a model or a function that gives one',
    ),
    aliases: z.array(z.string().min(1)).optional(),
    fallback: z.array(other).optional(),
    contextTokens: tokenCount.min(1_000, 'a model takes 1,000 tokens at least').optional(),
    maxRetries: count.optional(),
    media: z.boolean().optional(),
    structuredOutput: z.enum(['tool', 'native', 'native_with_tools']).optional(),
    timeouts: z
      .strictObject({ idleMs: z.number().positive().optional(), totalMs: z.number().positive().optional() })
      .optional(),
    ...settings,
    costPerMillion: z
      .strictObject({
        inputUsd: price,
        outputUsd: price,
        cachedInputUsd: price.optional(),
        cacheWriteUsd: price.optional(),
      })
      .optional(),
  }),
  agent: z.strictObject({
    kind: z.literal('agent'),
    name,
    type: z.enum(['ai_human', 'dual_ai']),
    sideA: side,
    sideB: side.optional(),
    maxSessionTurns: z.number().int().positive().optional(),
    hooks,
    variables,
    env,
    exposeAsTool: z.boolean().optional(),
    toolDescription: z.string().optional(),
    budget: budgetSchema.optional(),
    supervision: supervision.optional(),
  }),
  hook: z.strictObject({
    kind: z.literal('hook'),
    name,
    on: z.enum([
      'thread_created',
      'subagent_created',
      'message',
      'before_step',
      'after_step',
      'before_call',
      'after_call',
      'stop',
    ]),
    tools: z.array(other).optional(),
    timeoutMs: z.number().positive().optional(),
    onError: z.enum(['go_on', 'block']).optional(),
    show: z.enum(['at_once', 'after']).optional(),
    run: body,
  }),
  endpoint: z.strictObject({
    kind: z.literal('endpoint'),
    name: z.string().min(1, 'must be its route, as notes/[id].post'),
    summary: z.string().optional(),
    scope: z.enum(['read', 'write', 'approve', 'admin']).optional(),
    run: body,
  }),
  // src/tools/foreign/server.ts checks the rest.
  mcp: z.looseObject({ kind: z.literal('mcp'), name: z.string().min(1) }),
  skillset: z.strictObject({ kind: z.literal('skillset'), name: z.string().min(1) }),
} satisfies Readonly<Record<Definition['kind'], z.ZodObject>>

export function isDefinition(value: unknown): value is Definition {
  return (
    isObject(value) &&
    typeof value['kind'] === 'string' &&
    Object.hasOwn(forms, value['kind']) &&
    typeof value['name'] === 'string'
  )
}

/** The fields of prompts, agents and their sides. */
export const fieldNames = {
  prompt: Object.keys(forms.prompt.shape),
  agent: Object.keys(forms.agent.shape),
  side: Object.keys(side.shape),
} as const

export interface FormMistake {
  readonly text: string
  /** Where in the definition it is. */
  readonly field: readonly PropertyKey[]
}

/** Mistakes in the form of one definition, without looking at others. */
export function checkForm(definition: Definition): readonly FormMistake[] {
  const form = Object.hasOwn(forms, definition.kind) ? forms[definition.kind] : undefined
  if (!form)
    return [
      {
        text: `kind: ${JSON.stringify(definition.kind)} is none; there are: ${Object.keys(forms).join(', ')}`,
        field: ['kind'],
      },
    ]
  // Definitions are checked once: a form that is compiled first takes longer.
  const { error } = form.safeParse(definition, { jitless: true })
  const misnamed = misnamedFields(definition, Object.keys(form.shape))
  const strange = strangeTools(definition)
  const rest = (error?.issues ?? []).filter(
    ({ path: [field, index] }) =>
      ![...misnamed.values()].some((each) => each.meant === field || each.field === field) &&
      !(field === 'tools' && index !== undefined && strange.has(index)),
  )
  return [
    ...[...misnamed.values()].map(({ text, field }) => ({ text, field: [field] })),
    ...[...strange].map(([index, text]) => ({ text, field: ['tools', index] })),
    ...rest.flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownFields(issue, form, misnamed)
        : [{ text: `${issue.path.join('.') || 'it'}: ${issue.message}`, field: issue.path }],
    ),
  ]
}

/** Items among the tools of a prompt that are neither a name nor a relation: the mistake of each, by index. */
function strangeTools(definition: Definition): ReadonlyMap<PropertyKey, string> {
  const tools: unknown = definition.kind === 'prompt' ? definition.tools : undefined
  const found = new Map<PropertyKey, string>()
  for (const [index, tool] of Array.isArray(tools) ? tools.entries() : []) {
    const seems = lookalike(tool)
    if (seems) found.set(index, `tools.${index} ${seems.says}`)
    else if (tool === '') found.set(index, `tools.${index}: ${nameless}`)
    else if (typeof tool !== 'string' && (!isObject(tool) || isNamed(tool)))
      found.set(
        index,
        `tools.${index}: must be the name of a tool, an agent or a prompt; definePrompt takes the definition ` +
          `itself, too`,
      )
  }
  return found
}

function unknownFields(
  { keys, path }: z.core.$ZodIssueUnrecognizedKeys,
  form: z.ZodObject,
  misnamed: ReadonlyMap<string, unknown>,
): readonly FormMistake[] {
  const known = fieldsAt(form, path)
  return keys
    .filter((key) => path.length > 0 || !misnamed.has(key))
    .map((key) => {
      const meant = nearest(key, known)
      const mistake = `${[...path, key].join('.')}: there is no such field`
      return { text: meant === undefined ? mistake : `${mistake}; did you mean ${meant}?`, field: [...path, key] }
    })
}

function fieldsAt(form: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] {
  if (form instanceof z.ZodOptional) return fieldsAt(form.unwrap(), path)
  if (form instanceof z.ZodUnion) return form.options.flatMap((option) => fieldsAt(option, path))
  const [key, ...rest] = path
  if (form instanceof z.ZodArray && key !== undefined) return fieldsAt(form.element, rest)
  if (!(form instanceof z.ZodObject)) return []
  if (key === undefined) return Object.keys(form.shape)
  const field: z.core.$ZodType | undefined = form.shape[String(key)]
  return field ? fieldsAt(field, rest) : []
}
