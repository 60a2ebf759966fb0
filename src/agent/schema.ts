/**
 * The form of every definition, field by field. What fields mean together is in tool-checks.ts, what names mean in
 * mentions.ts.
 *
 * DF1 A field that is not known is a mistake, told with the known field that is nearest.
 */
import { z } from 'zod'
import { isVariableName } from '../core/env.js'
import { budgetSchema } from '../core/budget.js'
import { isObject } from '../core/json.js'
import type { Definition } from './define.js'
import { nearest } from './nearest.js'

const name = z.string().regex(/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/, {
  error: ({ input }) => (input === '' ? 'it has none; only the file of a folder app can name its definition' : 'a name is a letter, then up to 63 letters, digits, "_" or "-"'),
})
const schema = z.custom<z.ZodType>(isSchema, 'must be a zod 4 schema')
const body = z.custom<() => unknown>((value) => typeof value === 'function', 'must be a function')
const choice = z.union([z.enum(['auto', 'none', 'required']), z.strictObject({ tool: z.string() })])
const count = z.number().int().min(0)

const variableName = z.string().refine(isVariableName, 'a variable is written in capitals, digits and "_", and does not begin with a digit')
const variable = z.strictObject({
  name: variableName,
  type: z.enum(['text', 'secret']).optional(),
  required: z.boolean().optional(),
  default: z.string().optional(),
  scoped: z.boolean().optional(),
  description: z.string().optional(),
})
const variables = z.array(variable).refine((list) => new Set(list.map(({ name: own }) => own)).size === list.length, 'a variable is named twice').optional()
const env = z.record(variableName, z.string()).optional()

const retry = z.strictObject({
  maxRetries: count,
  backoffMs: z.number().min(0).optional(),
  shouldRetry: body.optional(),
  circuitBreakerThreshold: z.number().int().min(1).optional(),
})

const supervision = z.strictObject({ strategy: z.literal('one_for_one'), maxRestarts: count, withinMs: z.number().positive().optional() })

/** An agent or a prompt; which fields go with which is in call-checks.ts. */
const callable = z.strictObject({
  name: z.string(),
  includeTextResponse: z.boolean().optional(),
  includeToolCalls: z.boolean().optional(),
  includeErrors: z.boolean().optional(),
  initUserMessageProperty: z.string().optional(),
  initAttachmentsProperty: z.string().optional(),
  initAgentNameProperty: z.string().optional(),
  blocking: z.boolean().optional(),
  optional: variableName.optional(),
  immediate: z.union([z.boolean(), z.strictObject({ nameEnv: variableName.optional(), descriptionEnv: variableName.optional(), scopedEnv: z.array(variableName).optional() })]).optional(),
  files: z.literal('fork').optional(),
  budget: budgetSchema.optional(),
  supervision: supervision.optional(),
  resumable: z
    .union([
      z.literal(false),
      z.strictObject({ receives_messages: z.enum(['side_a', 'side_b']), maxInstances: z.number().int().positive().optional(), parentCommunication: z.enum(['implicit', 'explicit']).optional() }),
    ])
    .optional(),
})

const part = z.discriminatedUnion('type', [z.strictObject({ type: z.literal('text'), content: z.string() }), z.strictObject({ type: z.literal('include'), prompt: z.string() }), z.strictObject({ type: z.literal('env'), property: variableName })])
const property = z.string().min(1)
const sessionTool = z.union([z.string(), z.strictObject({ name: z.string(), messageProperty: property.optional(), attachmentsProperty: property.optional() })], 'must be the name of a tool or { name, messageProperty?, attachmentsProperty? }')
const side = z.strictObject({
  prompt: z.string(),
  label: z.string().min(1).optional(),
  stopOnResponse: z.boolean().optional(),
  stopTool: z.string().optional(),
  stopToolResponseProperty: property.optional(),
  maxSteps: z.number().int().positive().optional(),
  sessionStop: sessionTool.optional(),
  sessionFail: sessionTool.optional(),
  sessionStatus: sessionTool.optional(),
})

const forms = {
  tool: z.strictObject({
    kind: z.literal('tool'),
    name,
    description: z.string(),
    args: schema,
    parameters: z.record(z.string(), z.json()).optional(),
    execute: z.union([z.literal(false), body], 'must be a function (state, args) => result, an async generator, or false').optional(),
    onToolCalled: body.optional(),
    onResponseReceived: body.optional(),
    outputSchema: schema.optional(),
    eventSchema: schema.optional(),
    contextSchema: schema.optional(),
    sharedSchema: schema.optional(),
    variables,
    needsApproval: z.union([z.boolean(), body], 'must be true, false or a function (args, { threadId }) => boolean').optional(),
    approvalPrompt: z.string().optional(),
    approvalDefaults: z.json().optional(),
    approvalDeadline: z.strictObject({ afterMs: z.number().positive(), decision: z.enum(['approve', 'reject']) }).optional(),
    maxExecutionsPerRun: count.nullable().optional(),
    cache: z.union([z.boolean(), z.strictObject({ keyFn: body.optional(), ttlMs: z.number().positive().optional() })], 'must be true, false or { keyFn?, ttlMs? }').optional(),
    retry: retry.optional(),
    timeoutMs: z.number().positive().optional(),
    sideEffect: z.boolean().optional(),
    commutes: z.boolean().optional(),
    idempotent: z.boolean().optional(),
    probe: body.optional(),
    onUnknown: z.enum(['tell', 'ask', 'retry']).optional(),
    revert: body.optional(),
    retention: z.enum(['keep', 'archive']).optional(),
    toModelOutput: body.optional(),
    uses: z.array(z.string()).optional(),
    cpu: z.boolean().optional(),
    where: z.enum(['worker', 'host']).optional(),
  }),
  prompt: z.strictObject({
    kind: z.literal('prompt'),
    name,
    prompt: z.union([z.string(), z.array(part)], 'must be a text, or a list of parts: { type: "text", content }, { type: "include", prompt }, { type: "env", property }'),
    model: z.string(),
    tools: z.array(z.union([z.string(), callable])).optional(),
    includeChat: z.boolean().optional(),
    includePastTools: z.boolean().optional(),
    toolChoice: choice.optional(),
    parallelToolCalls: z.boolean().optional(),
    reasoning: z.enum(['low', 'medium', 'high']).optional(),
    variables,
    env,
    outputSchema: schema.optional(),
    requiredSchema: schema.optional(),
    exposeAsTool: z.boolean().optional(),
    toolDescription: z.string().optional(),
  }),
  model: z.strictObject({
    kind: z.literal('model'),
    name,
    model: z.custom((value) => isObject(value) || typeof value === 'function', 'must be a model or a function that gives one'),
    fallback: z.array(z.string()).optional(),
    maxRetries: count.optional(),
    costPerMillion: z.strictObject({ inputUsd: z.number().min(0), outputUsd: z.number().min(0) }).optional(),
  }),
  agent: z.strictObject({
    kind: z.literal('agent'),
    name,
    type: z.enum(['ai_human', 'dual_ai']),
    sideA: side,
    sideB: side.optional(),
    maxSessionTurns: z.number().int().positive().optional(),
    variables,
    env,
    exposeAsTool: z.boolean().optional(),
    toolDescription: z.string().optional(),
    budget: budgetSchema.optional(),
    supervision: supervision.optional(),
  }),
  // Its own module knows the rest of it.
  mcp: z.looseObject({ kind: z.literal('mcp'), name: z.string().min(1) }),
} satisfies Readonly<Record<Definition['kind'], z.ZodObject>>

export function isDefinition(value: unknown): value is Definition {
  return isObject(value) && typeof value['kind'] === 'string' && Object.hasOwn(forms, value['kind']) && typeof value['name'] === 'string'
}

export function isSchema(value: unknown): value is z.ZodType {
  return isObject(value) && '_zod' in value
}

/** What is wrong with one definition, looked at by itself. */
export function checkForm(definition: Definition): readonly string[] {
  const form = Object.hasOwn(forms, definition.kind) ? forms[definition.kind] : undefined
  if (!form) return [`kind: ${JSON.stringify(definition.kind)} is none; there are: ${Object.keys(forms).join(', ')}`]
  const { error } = form.safeParse(definition)
  return (error?.issues ?? []).flatMap((issue) => (issue.code === 'unrecognized_keys' ? unknownFields(issue, form) : [`${issue.path.join('.') || 'it'}: ${issue.message}`]))
}

/** DF1 */
function unknownFields({ keys, path }: z.core.$ZodIssueUnrecognizedKeys, form: z.ZodObject): readonly string[] {
  const known = fieldsAt(form, path)
  return keys.map((key) => {
    const meant = nearest(key, known)
    return `${[...path, key].join('.')}: there is no such field${meant === undefined ? '' : `; did you mean ${meant}?`}`
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
