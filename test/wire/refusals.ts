/**
 * What providers refuse, as servers on the loopback refuse it: a body goes in, the refusal comes out in the
 * provider's words. Only what is documented or was seen in public by many is here, with where; a request that passes
 * is one that the provider takes.
 */
import { isObject } from '../../src/core/json.js'

export type Body = Readonly<Record<string, unknown>>
export type Refuse = (body: Body) => string | undefined

/** Signatures and items that the server has given away, with the text that each belongs to. */
export type Issued = ReadonlyMap<string, string>

type Item = Readonly<Record<string, unknown>>

export function items(value: unknown): readonly Item[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

function first(refusals: Iterable<string | undefined>): string | undefined {
  for (const refusal of refusals) if (refusal !== undefined) return refusal
  return undefined
}

/**
 * Messages API: docs.anthropic.com, "Tool use", "Extended thinking" (preserving thinking blocks), "Errors"; vercel/ai
 * and anthropic-sdk issues.
 */
export function refusedByAnthropic(issued: Issued): Refuse {
  return (body) => {
    const messages = items(body['messages'])
    return first([
      ...items(body['tools']).map((tool, at) =>
        tool['type'] !== undefined && tool['type'] !== 'custom'
          ? undefined
          : schemaRefusal(tool['input_schema'], `tools.${at}.custom.input_schema.type: Field required`),
      ),
      brokenText(body),
      ...messages.flatMap((message) =>
        items(message['content'])
          .filter(({ type }) => type === 'tool_use')
          .map(({ name }) => wrongName(name)),
      ),
      ...messages.map((message, at) => emptyBlock(message, at)),
      ...messages.map((message, at) => pairs(messages, message, at)),
      ...messages.map((message, at) => serverPairs(message, at)),
      ...messages.flatMap((message, at) =>
        items(message['content']).map((block, index) => unsigned(block, `messages.${at}.content.${index}`, issued)),
      ),
      thinkingFirst(body, messages),
      forcedThinking(body),
    ])
  }
}

/**
 * Refused for ever after: "messages: text content blocks must be non-empty"; "all messages must have non-empty
 * content".
 */
function emptyBlock(message: Item, at: number): string | undefined {
  const content = items(message['content'])
  if (content.length === 0)
    return `messages.${at}: all messages must have non-empty content except for the optional final assistant message`
  return content.some((block) => block['type'] === 'text' && text(block['text']).trim() === '')
    ? 'messages: text content blocks must be non-empty'
    : undefined
}

/** "`web_search` tool use with id … was found without a corresponding `web_search_tool_result` block" */
function serverPairs(message: Item, at: number): string | undefined {
  const asked = idsOf(message, 'server_tool_use', 'id')
  const given = idsOf(message, 'web_search_tool_result', 'tool_use_id')
  const lone = asked.find((id) => !given.includes(id))
  return lone === undefined
    ? undefined
    : `messages.${at}: \`web_search\` tool use with id \`${lone}\` was found without a corresponding ` +
        '`web_search_tool_result` block'
}

/**
 * "`tool_use` ids must be unique"; "… found without `tool_result` blocks immediately after"; "unexpected
 * `tool_use_id` …"; "each tool_use must have a single result".
 */
function pairs(messages: readonly Item[], message: Item, at: number): string | undefined {
  const asked = idsOf(message, 'tool_use', 'id')
  const given = idsOf(message, 'tool_result', 'tool_use_id')
  if (new Set(asked).size < asked.length) return `messages.${at}: \`tool_use\` ids must be unique`
  if (new Set(given).size < given.length)
    return (
      `messages.${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with ` +
      `id: ${given[0]}`
    )
  const results = idsOf(messages[at + 1], 'tool_result', 'tool_use_id')
  const calls = idsOf(messages[at - 1], 'tool_use', 'id')
  if (asked.some((id) => !results.includes(id)))
    return (
      `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
      `${asked.join(', ')}`
    )
  return given.some((id) => !calls.includes(id))
    ? `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${given.join(', ')}`
    : undefined
}

/**
 * "messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"; OpenAI's pattern is the
 * same but for its length.
 */
function wrongName(name: unknown): string | undefined {
  return /^[a-zA-Z0-9_-]{1,64}$/.test(text(name))
    ? undefined
    : `tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`
}

/** "The request body is not valid JSON: no low surrogate in string" (anthropics/claude-code#1709 and others). */
function brokenText(body: Body): string | undefined {
  const whole = (value: unknown): boolean =>
    typeof value === 'string'
      ? !/\p{Surrogate}/u.test(value)
      : typeof value !== 'object' || value === null || Object.values(value).every(whole)
  return whole(body) ? undefined : 'The request body is not valid JSON: no low surrogate in string'
}

function idsOf(message: Item | undefined, type: string, field: string): readonly string[] {
  return items(message?.['content'])
    .filter((block) => block['type'] === type)
    .map((block) => text(block[field]))
}

/**
 * "Invalid `signature` in `thinking` block"; "blocks in the latest assistant message cannot be modified" (Extended
 * thinking).
 */
function unsigned(block: Item, place: string, issued: Issued): string | undefined {
  if (block['type'] === 'redacted_thinking')
    return issued.has(text(block['data'])) ? undefined : `${place}: Invalid \`data\` in \`redacted_thinking\` block`
  if (block['type'] !== 'thinking') return undefined
  if (typeof block['signature'] !== 'string') return `${place}.thinking.signature: Field required`
  return issued.get(block['signature']) === block['thinking']
    ? undefined
    : `${place}: Invalid \`signature\` in \`thinking\` block`
}

/** deepset-ai/haystack-core-integrations#2146, pydantic/pydantic-ai#2075. */
function thinkingFirst(body: Body, messages: readonly Item[]): string | undefined {
  const thinks = isObject(body['thinking']) && body['thinking']['type'] !== 'disabled'
  const last = messages.findLast((message) => message['role'] === 'assistant')
  const [block] = items(last?.['content'])
  const acts =
    idsOf(last, 'tool_use', 'id').length > 0 &&
    items(messages.at(-1)?.['content']).some(({ type }) => type === 'tool_result')
  if (!thinks || !acts || block?.['type'] === 'thinking' || block?.['type'] === 'redacted_thinking') return undefined
  return (
    `messages.1.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found ` +
    `\`${text(block?.['type'])}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a ` +
    `thinking block`
  )
}

/** Extended thinking, "tool choice limitation". */
function forcedThinking(body: Body): string | undefined {
  const thinks = isObject(body['thinking']) && body['thinking']['type'] !== 'disabled'
  const choice = isObject(body['tool_choice']) ? body['tool_choice']['type'] : undefined
  return thinks && (choice === 'any' || choice === 'tool')
    ? 'Thinking may not be enabled when tool_choice forces tool use.'
    : undefined
}

/**
 * Nor a choice at the top: "input_schema does not support oneOf, allOf, or anyOf at the top level"; OpenAI says the
 * same of its functions.
 */
function schemaRefusal(schema: unknown, refusal: string): string | undefined {
  return isObject(schema) &&
    schema['type'] === 'object' &&
    !('anyOf' in schema || 'oneOf' in schema || 'allOf' in schema)
    ? undefined
    : refusal
}

/** Chat completions: platform.openai.com, "Function calling"; seen in langchain-ai/langchain#24001 and many more. */
export const refusedByChat: Refuse = (body) => {
  const messages = items(body['messages'])
  return first([
    ...items(body['tools']).map((tool) => schemaOfFunction(tool['function'])),
    ...messages.map((message, at) => chatPairs(messages, message, at)),
    brokenText(body),
    ...messages.flatMap((message) =>
      items(message['tool_calls']).map((call) =>
        isObject(call['function']) ? wrongName(call['function']['name']) : undefined,
      ),
    ),
    ...messages.map((message, at) => nothingSaid(message, at)),
  ])
}

/** "Invalid schema for function 'x': schema must be a JSON Schema of 'type: "object"', got 'type: "None"'." */
function schemaOfFunction(called: unknown): string | undefined {
  const fields = isObject(called) ? called : {}
  // A tool that the provider runs has no schema.
  if (fields['type'] !== undefined && fields['type'] !== 'function') return undefined
  return schemaRefusal(
    fields['parameters'],
    `Invalid schema for function '${text(fields['name'])}': schema must be a JSON Schema of 'type: "object"', got ` +
      `'type: "None"'.`,
  )
}

function chatPairs(messages: readonly Item[], message: Item, at: number): string | undefined {
  const asked = items(message['tool_calls']).map(({ id }) => text(id))
  if (new Set(asked).size < asked.length) return `messages[${at}]: duplicate tool_call ids`
  const results = messages.slice(at + 1)
  const end = results.findIndex(({ role }) => role !== 'tool')
  const given = results.slice(0, end === -1 ? undefined : end).map((result) => text(result['tool_call_id']))
  if (asked.length > 0 && [...asked].sort().join() !== [...given].sort().join()) {
    return (
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each ` +
      `'tool_call_id'. The following tool_call_ids did not have response messages: ${asked.join(', ')}`
    )
  }
  const before = messages[at - 1]
  const orphan = message['role'] === 'tool' && before?.['role'] !== 'tool' && items(before?.['tool_calls']).length === 0
  return orphan ? "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'." : undefined
}

/** "Invalid value for 'content': expected a string, got null." */
function nothingSaid(message: Item, at: number): string | undefined {
  const said = message['content']
  const none = said === null || said === undefined || said === '' || (Array.isArray(said) && said.length === 0)
  return none && items(message['tool_calls']).length === 0 && message['role'] !== 'tool'
    ? `messages[${at}]: Invalid value for 'content': expected a string`
    : undefined
}

/** deepseek-ai/DeepSeek-R1#836, pydantic/pydantic-ai#3644: a model that thinks cannot be forced to call a tool. */
function forcedReasoner(body: Body): string | undefined {
  const choice = body['tool_choice']
  return choice === 'required' || isObject(choice) ? 'deepseek-reasoner does not support this tool_choice' : undefined
}

/**
 * api-docs.deepseek.com/guides/thinking_mode#tool-calls; continuedev/continue#9720, openai/openai-agents-python#2155.
 */
export function refusedByDeepSeek(issued: Issued): Refuse {
  return (body) => {
    const messages = items(body['messages'])
    const spoken = messages.findLastIndex(({ role }) => role === 'user')
    return first([
      refusedByChat(body),
      forcedReasoner(body),
      ...messages.map((message, at) => {
        if (at < spoken || items(message['tool_calls']).length === 0) return undefined
        const thought = message['reasoning_content']
        if (typeof thought !== 'string')
          return (
            `Missing \`reasoning_content\` field in the assistant message at message index ${at}. For more ` +
            `information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls`
          )
        return issued.has(thought) || issued.size === 0 ? undefined : `reasoning_content at ${at} is none of ours`
      }),
    ])
  }
}

/**
 * Responses: platform.openai.com, "Reasoning models" (keeping reasoning items in context); vercel/ai#7099,
 * mastra-ai/mastra#8738, TanStack/ai#1212.
 */
export function refusedByResponses(issued: Issued): Refuse {
  return (body) => {
    const input = items(body['input'])
    const stored = body['store'] !== false
    return first([
      ...items(body['tools']).map((tool) => schemaOfFunction(tool)),
      brokenText(body),
      ...input.map((item) => (item['type'] === 'function_call' ? wrongName(item['name']) : undefined)),
      ...input.map((item, at) => reasoningItem(input, item, { at, issued, stored })),
      ...input.map((item) => responsePairs(input, item)),
    ])
  }
}

interface ItemPlace {
  readonly at: number
  readonly issued: Issued
  readonly stored: boolean
}

function reasoningItem(input: readonly Item[], item: Item, { at, issued, stored }: ItemPlace): string | undefined {
  const id = text(item['id'])
  switch (item['type']) {
    case 'function_call':
      return issued.size === 0 || mayPrecedeCall(input[at - 1])
        ? undefined
        : `Item '${text(item['call_id'])}' of type 'function_call' was provided without its required 'reasoning' item`
    case 'item_reference':
      if (!stored || !issued.has(id))
        return `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false.`
      return id.startsWith('rs_') ? withoutFollower(id, input[at + 1]) : undefined
    case 'reasoning':
      return issued.get(id) === item['encrypted_content']
        ? withoutFollower(id, input[at + 1])
        : `The encrypted content for item ${id} could not be verified.`
    default:
      return undefined
  }
}

function mayPrecedeCall(before: Item | undefined): boolean {
  const type = before?.['type']
  return type === 'reasoning' || type === 'function_call' || /^(?:rs|msg)_/.test(text(before?.['id']))
}

function withoutFollower(id: string, next: Item | undefined): string | undefined {
  const follows =
    next?.['type'] === 'function_call' || next?.['role'] === 'assistant' || text(next?.['id']).startsWith('msg_')
  return follows ? undefined : `Item '${id}' of type 'reasoning' was provided without its required following item.`
}

function responsePairs(input: readonly Item[], item: Item): string | undefined {
  const id = text(item['call_id'])
  const same = input.filter((other) => other['call_id'] === item['call_id'])
  const calls = same.filter(({ type }) => type === 'function_call').length
  const outputs = same.filter(({ type }) => type === 'function_call_output').length
  if (item['type'] === 'function_call_output' && calls === 0)
    return `No tool call found for function call output with call_id ${id}.`
  if (item['type'] === 'function_call' && outputs === 0) return `No tool output found for function call ${id}.`
  return calls > 1 || outputs > 1 ? `Duplicate item found with call_id ${id}.` : undefined
}

/**
 * Gemini API: ai.google.dev/gemini-api/docs/thought-signatures and /function-calling; nanbingxyz/5ire#405,
 * nearai/ironclaw#1510.
 */
export function refusedByGoogle(issued: Issued): Refuse {
  return (body) => {
    const contents = items(body['contents'])
    const declared = items(body['tools']).flatMap((tool) => items(tool['functionDeclarations']))
    return first([
      ...declared.map((called) => wrongDeclaration(called)),
      ...contents.map((content, at) =>
        items(content['parts']).length === 0 ? `contents[${at}].parts must not be empty` : undefined,
      ),
      ...contents.map((content, at) => googlePairs(contents, content, at)),
      ...contents.map((content) => unsignedCall(content, issued)),
    ])
  }
}

/** A tool without args may leave its parameters out. */
function wrongDeclaration(called: Item): string | undefined {
  const name = text(called['name'])
  return called['parameters'] === undefined
    ? undefined
    : schemaRefusal(called['parameters'], `functionDeclaration \`${name}\` schema should be of type OBJECT`)
}

/**
 * "Please ensure that the number of function response parts is equal to the number of function call parts of the
 * function call turn."
 */
function googlePairs(contents: readonly Item[], content: Item, at: number): string | undefined {
  const calls = items(content['parts']).filter(({ functionCall }) => functionCall !== undefined).length
  const next = items(contents[at + 1]?.['parts']).filter(
    ({ functionResponse }) => functionResponse !== undefined,
  ).length
  return calls > 0 && next !== calls
    ? 'Please ensure that the number of function response parts is equal to the number of function call parts of ' +
        'the function call turn.'
    : undefined
}

/**
 * The first call of a reply carries the signature; one that skips the check is a loss of the thoughts, and none here.
 */
function unsignedCall(content: Item, issued: Issued): string | undefined {
  const call = items(content['parts']).find(({ functionCall }) => functionCall !== undefined)
  const called = call && isObject(call['functionCall']) ? text(call['functionCall']['name']) : ''
  if (!call || issued.has(text(call['thoughtSignature']))) return undefined
  return (
    `Function call is missing a thought_signature in functionCall parts. Additional data, function call ` +
    `\`default_api:${called}\`, position 2.`
  )
}
