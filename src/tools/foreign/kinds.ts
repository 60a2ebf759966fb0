/**
 * The kinds of foreign tools, recognised by their shape: LangChain tools, AI SDK tools, and objects with one suitable
 * method. Turns each into the parts of a definition.
 *
 * - Methods are called on their own object, so that closures and inheritance keep working.
 * - Every result is wrapped in Skein's own `{ status, … }`, so that none is mistaken for one.
 */
import type { z } from 'zod'
import type { ToolDefinition, ToolState } from '../../agent/define.js'
import { SkeinError } from '../../core/failure.js'
import type { Json } from '../../core/json.js'
import { isObject } from '../../core/json.js'
import { contentText } from './content.js'
import { checkOnly, readSchema } from './schema.js'
import type { ForeignSchema } from './schema.js'

export interface Adapted extends Pick<ToolDefinition, 'args' | 'parameters' | 'needsApproval' | 'toModelOutput'> {
  readonly description?: string
  readonly outputSchema?: z.ZodType
  readonly execute: false | ((state: ToolState, args: unknown) => Promise<unknown>)
}

type Thing = { readonly [key: string]: unknown }

const methods = ['func', 'invoke', 'call', '_call', 'run'] as const

export const expected = `a LangChain tool, an AI SDK tool, or an object with ${methods.join(' | ')}`

/** Throws if the thing is not a tool; the message completes "… is not a tool: ". */
export function adapt(thing: unknown): Adapted {
  if (!isObject(thing)) throw new TypeError(`expected ${expected}, got ${thing === null ? 'null' : typeof thing}`)
  const { kind, type } = thing
  if (kind === 'tool' || kind === 'mcp')
    throw new TypeError('it is a definition of Skein already; export it beside what fromTools gives')
  if (type === 'provider' || type === 'provider-defined')
    throw new TypeError(`it is run by the model's provider (${String(thing['id'])}) and has no body of its own`)
  const description = [thing['description'], thing['title']].find((text) => typeof text === 'string')
  const parts = partsOf(thing)
  return typeof description === 'string' ? { description, ...parts } : parts
}

/** Whether it is a single tool, not a record of tools. */
export function looksLikeTool(thing: Thing): boolean {
  return ['execute', ...methods].some((name) => typeof thing[name] === 'function')
}

function partsOf(thing: Thing): Adapted {
  if (thing['lc_runnable'] === true && typeof thing['invoke'] === 'function') return langChain(thing, schemaOf(thing))
  if (typeof thing['execute'] === 'function') return aiSdk(thing, schemaOf(thing))
  const method = methods.find((name) => typeof thing[name] === 'function')
  if (method !== undefined) return withMethod(thing, method)
  // A tool of the AI SDK without a body is answered by the caller.
  if ('inputSchema' in thing) return aiSdk(thing, schemaOf(thing))
  throw new TypeError(`expected ${expected}; it has ${Object.keys(thing).join(', ') || 'no fields'}`)
}

function schemaOf(thing: Thing): ForeignSchema {
  const found = thing['inputSchema'] ?? thing['schema'] ?? thing['parameters'] ?? thing['input_schema']
  const schema = readSchema(found)
  if (!schema) throw new TypeError('its schema is neither zod nor JSON Schema')
  return schema
}

export function foreignArgs(schema: ForeignSchema): Pick<Adapted, 'args' | 'parameters'> {
  return { args: checkOnly(schema), parameters: schema.parameters }
}

function callOn(thing: Thing, method: string, args: readonly unknown[]): unknown {
  const body = thing[method]
  return typeof body === 'function' ? Reflect.apply(body, thing, args) : undefined
}

function success(result: unknown) {
  return { status: 'success', result }
}

// ── LangChain ──

function langChain(thing: Thing, schema: ForeignSchema): Adapted {
  const withArtifact = thing['responseFormat'] === 'content_and_artifact'
  return {
    ...foreignArgs(schema),
    async execute(state, args) {
      const tell = (event: unknown): void => state.progress(event)
      const config = {
        signal: state.signal,
        configurable: { thread_id: state.threadId },
        callbacks: [
          {
            name: 'skein',
            awaitHandlers: true,
            handleToolEvent: tell,
            handleCustomEvent: (name: string, data: unknown) => tell({ name, data }),
          },
        ],
      }
      // LangChain returns the artifact only for a complete tool call.
      const input = withArtifact ? { type: 'tool_call', id: state.idempotencyKey, name: thing['name'], args } : args
      return fromMessage(await callOn(thing, 'invoke', [input, config]))
    },
    toModelOutput: (output) => contentText(isObject(output) && 'artifact' in output ? output['content'] : output),
  }
}

/** A tool message is opened: its content, or its content and artifact. */
function fromMessage(returned: unknown): unknown {
  if (!isObject(returned) || !('tool_call_id' in returned) || !('content' in returned)) return success(returned)
  const { content, artifact, status } = returned
  if (status === 'error') return { status: 'error', error: contentText(content) }
  return success(artifact === undefined ? content : { content, artifact })
}

// ── AI SDK ──

function aiSdk(thing: Thing, schema: ForeignSchema): Adapted {
  const { needsApproval, outputSchema, toModelOutput } = thing
  const output = outputSchema === undefined ? undefined : readSchema(outputSchema)
  // A tool that the caller answers by hand needs no approval.
  const hasBody = typeof thing['execute'] === 'function'
  return {
    ...foreignArgs(schema),
    execute:
      hasBody &&
      (async (state, args) => {
        const options = { toolCallId: state.idempotencyKey, messages: [], abortSignal: state.signal }
        return success(await lastOf(callOn(thing, 'execute', [await parsed(schema, args), options]), state))
      }),
    ...(output && { outputSchema: checkOnly(output) }),
    ...(hasBody && typeof needsApproval === 'boolean' && { needsApproval }),
    ...(hasBody &&
      typeof needsApproval === 'function' && {
        needsApproval: async (args: unknown) =>
          (await callOn(thing, 'needsApproval', [await parsed(schema, args), { toolCallId: '', messages: [] }])) ===
          true,
      }),
    ...(typeof toModelOutput === 'function' && {
      toModelOutput: async (value: unknown, args: Json) =>
        saidOf(
          await callOn(thing, 'toModelOutput', [{ toolCallId: '', input: await parsed(schema, args), output: value }]),
          value,
        ),
    }),
  }
}

function saidOf(said: unknown, output: unknown): string {
  if (!isObject(said)) return contentText(output)
  const { type, value, reason } = said
  if (type === 'execution-denied') return typeof reason === 'string' ? reason : 'denied'
  return value === undefined ? contentText(output) : contentText(value)
}

// ── any object with a method ──

function withMethod(thing: Thing, method: string): Adapted {
  const schema = schemaOf(thing)
  return {
    ...foreignArgs(schema),
    execute: async (state, args) =>
      success(await lastOf(callOn(thing, method, [await parsed(schema, args), { signal: state.signal }]), state)),
    toModelOutput: contentText,
  }
}

async function parsed(schema: ForeignSchema, args: unknown): Promise<unknown> {
  const result = await schema.parse(args)
  if (result.ok) return result.value
  const fields = result.issues.map(({ path, message }) => ({ path: path.join('.') || '(args)', message }))
  throw new SkeinError(
    'TOOL_INPUT_INVALID',
    `the args are invalid: ${fields.map(({ path, message }) => `${path}: ${message}`).join('; ')}. Send them ` +
      `again, corrected.`,
    { data: { fields } },
  )
}

/** The last value of a body; what it streams before is progress. */
async function lastOf(returned: unknown, state: ToolState): Promise<unknown> {
  const value = await returned
  if (!isStream(value)) return value
  const items = value[Symbol.asyncIterator]()
  let last: unknown
  try {
    for (;;) {
      const { done, value: item } = await items.next()
      if (done) return item === undefined ? last : item
      state.signal.throwIfAborted()
      last = item
      state.progress(item)
    }
  } catch (thrown) {
    await items.return?.()
    throw thrown
  }
}

function isStream(value: unknown): value is AsyncIterable<unknown, unknown> {
  return isObject(value) && typeof Reflect.get(value, Symbol.asyncIterator) === 'function'
}
