/**
 * Agents as tools of MCP: a call says something to an agent and is answered when the turn has ended, or when it waits
 * for people. What happens meanwhile is told as progress.
 *
 * - A client that leaves ends nothing. One that cancels its call ends this run, and no other of the thread.
 * - What the run waits for is put to the person of the client, where the client can ask and its key may decide.
 * - The state that a client sends back names a thread and a run: it is checked as any other argument is.
 */
import { SdkError, inputRequired, inputResponse } from '@modelcontextprotocol/server'
import type { CallToolResult, InputRequest, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { InboxItem, Run, RunResult, Thread } from '../../index.js'
import { defined } from '../../core/defined.js'
import { checkAccess, hasScope } from '../auth/principal.js'
import { answerOf } from '../faces/answer.js'
import type { Waiting } from '../faces/answer.js'
import { derivedId } from '../auth/derived-id.js'
import { problemOf } from '../faces/openai.js'
import { openApiSchema } from '../openapi.js'
import { badRequest, issuesText } from '../problem.js'
import { messageId, threadId } from '../schemas.js'
import { decide, formOf, parsedOrText } from './elicitation.js'
import { createMcpProgress } from './progress.js'
import { callRoute } from './route-tools.js'
import type { Arguments, InputSchema, McpScene, ToolFacts } from './route-tools.js'

const message = z.string().min(1).describe('What is said to the agent')
const thread = threadId.optional().describe('Goes on with this thread; without it there is a new one')
const id = messageId.optional().describe('The same id again is the same message: for a call that is sent again')
const agentArguments = z.strictObject({ message, thread, id })
const anyArguments = z.strictObject({ agent: z.string().min(1), message, thread, id })

/** Some clients take no longer names. */
const longestName = 64

/** One for each agent where they are known, else one for all. */
export function agentTools({ skein }: Pick<McpScene, 'skein'>): readonly AgentTool[] {
  if (!skein.definitions) return [{ ...factsOf('ask_agent', 'Says something to an agent.', anyArguments) }]
  return skein
    .definitions()
    .agents.filter(({ name }) => `ask_${name}`.length <= longestName)
    .map(({ name, description }) => ({
      ...factsOf(`ask_${name}`, description ?? `Says something to the agent ${name}.`, agentArguments),
      agent: name,
    }))
}

export interface AgentTool extends ToolFacts {
  /** Absent: an argument says which. */
  readonly agent?: string
}

function factsOf(name: string, description: string, form: z.ZodObject): ToolFacts {
  const inputSchema: InputSchema = { ...openApiSchema(form, 'input'), type: 'object' }
  return { name, description, inputSchema, annotations: { readOnlyHint: false }, scope: 'write' }
}

/** Neither is said: forms. */
interface ElicitationModes {
  readonly form?: object | undefined
  readonly url?: object | undefined
}

export interface AskContext {
  readonly scene: McpScene
  readonly request: ServerContext['mcpReq']
  readonly client: { readonly elicitation?: ElicitationModes | undefined } | undefined
}

interface Conversation {
  readonly thread: Thread
  readonly run: Run
  /** The last record that the client was told of. */
  readonly seen?: number
}

export async function askAgent(
  context: AskContext,
  { agent }: AgentTool,
  args: Arguments,
): Promise<CallToolResult | InputRequiredResult> {
  const before = stateOf(context)
  const conversation = before ? await goOn(context, before) : await begin(context, argumentsOf(agent, args))
  const responses = before ? await takeResponses(context, conversation) : noResponses
  try {
    return await answered(context, conversation, responses)
  } catch (thrown) {
    const { signal } = context.request
    if (isCancelled(context)) {
      const reason = typeof signal.reason === 'string' ? signal.reason : 'the MCP client cancelled its call'
      await conversation.thread.cancel({ run: conversation.run.id, reason })
    }
    throw thrown
  }
}

/** The client took the call back. Where it is gone, or the server closes, the connection was closed. */
function isCancelled({ request: { signal }, scene }: AskContext): boolean {
  return signal.aborted && !scene.signal.aborted && !SdkError.isInstance(signal.reason)
}

function argumentsOf(agent: string | undefined, args: Arguments): z.output<typeof anyArguments> {
  const checked = anyArguments.safeParse(agent === undefined || 'agent' in args ? args : { ...args, agent })
  if (!checked.success) throw badRequest(issuesText(checked.error))
  if (agent !== undefined && 'agent' in args) throw badRequest('this tool has no argument "agent": its name says it')
  return checked.data
}

async function begin(
  { scene }: AskContext,
  { agent, message: text, thread: given, id: own }: z.output<typeof anyArguments>,
): Promise<Conversation> {
  const { skein, principal } = scene
  await checkAccess(skein, principal, { scope: 'write', ...defined({ thread: given }) })
  const target = given === undefined ? await create(scene, agent, own) : await skein.threads.get(given)
  const run = target.send(text, { delivery: 'new_turn', ...defined({ id: own, trace: scene.trace }) })
  await run.accepted()
  return { thread: target, run }
}

/** With an id of the message, the thread is the one of the first attempt. */
async function create(scene: McpScene, agent: string, own: string | undefined): Promise<Thread> {
  const route = scene.routes.find(({ name }) => name === 'create_thread')
  const key = own === undefined ? undefined : derivedId('mcp', scene.principal, own)
  const created =
    route && (await callRoute({ ...scene, makesIds: true }, route, { agent, tags: ['mcp'], ...defined({ id: key }) }))
  return scene.skein.threads.get(z.object({ thread: z.string() }).parse(created).thread)
}

const stateSchema = z.strictObject({ thread: threadId, run: messageId, seen: z.number().int().min(0) })

function stateOf({ request }: AskContext): z.output<typeof stateSchema> | undefined {
  const text = request.requestState<unknown>()
  if (text === undefined) return undefined
  const checked = stateSchema.safeParse(typeof text === 'string' ? parsedOrText(text) : text)
  if (checked.success) return checked.data
  throw badRequest('the requestState is none that this server gave')
}

async function goOn({ scene }: AskContext, state: z.output<typeof stateSchema>): Promise<Conversation> {
  const { skein, principal } = scene
  await checkAccess(skein, principal, { scope: 'write', thread: state.thread })
  const target = await skein.threads.get(state.thread)
  const run = target.run(state.run)
  await run.accepted()
  return { thread: target, run, seen: state.seen }
}

interface Responses {
  /** What the person does not want to decide now. */
  readonly left: ReadonlySet<string>
  /** Why an answer was not taken, by what it answers. */
  readonly unfit: ReadonlyMap<string, string>
}

const noResponses: Responses = { left: new Set(), unfit: new Map() }

async function takeResponses({ scene, request }: AskContext, { thread: target }: Conversation): Promise<Responses> {
  const left = new Set<string>()
  const unfit = new Map<string, string>()
  const { root } = await target.info()
  for (const item of await scene.skein.inbox.list({ root })) {
    const response = inputResponse(request.inputResponses, item.id)
    if (response.kind !== 'elicit' || !item.path.includes(target.id)) continue
    await checkAccess(scene.skein, scene.principal, { scope: 'approve' })
    const { action, content } = response
    const decided = await decide(scene, item, { action, ...defined({ content }) })
    if (decided === 'left') left.add(item.id)
    else if (decided !== 'decided') unfit.set(item.id, decided.unfit)
  }
  return { left, unfit }
}

async function answered(
  context: AskContext,
  conversation: Conversation,
  responses: Responses,
): Promise<CallToolResult | InputRequiredResult> {
  const { scene, request } = context
  const signal = AbortSignal.any([scene.signal, request.signal])
  const tell = createMcpProgress(request, conversation.seen ?? 0)
  let seen = 0
  for await (const part of answerOf({ ...conversation, skein: scene.skein, signal })) {
    if ('change' in part) {
      const { event } = part.change
      if (event && 'seq' in event) seen = event.seq
      tell(part.change)
      continue
    }
    if ('ended' in part) return endOf(conversation, part.ended)
    const { waiting } = part
    return (
      questionsTo(context, { ...conversation, seen }, { ...responses, ...waiting }) ?? waitOf(conversation, waiting)
    )
  }
  signal.throwIfAborted()
  throw new Error(`the run ${conversation.run.id} was left before it ended`)
}

/** Undefined: there is nothing that the person of the client could be asked. */
function questionsTo(
  { scene, client }: AskContext,
  { thread: { id: of }, run, seen }: Conversation,
  { items, left, unfit }: Waiting & Responses,
): InputRequiredResult | undefined {
  const mayAsk = client?.elicitation && (client.elicitation.form || !client.elicitation.url)
  if (!mayAsk || !hasScope(scene.principal, 'approve')) return undefined
  const asked = items.flatMap((item): [string, InputRequest][] => {
    const form = left.has(item.id) ? undefined : formOf(item)
    if (!form) return []
    const wrong = unfit.get(item.id)
    const text = wrong === undefined ? form.message : `${wrong}\n\n${form.message}`
    return [[item.id, inputRequired.elicit({ ...form, message: text })]]
  })
  if (asked.length === 0) return undefined
  return inputRequired({
    inputRequests: Object.fromEntries(asked),
    requestState: JSON.stringify({ thread: of, run: run.id, seen }),
  })
}

function endOf({ thread: { id: of }, run }: Conversation, ended: RunResult): CallToolResult {
  const { text, stopReason, output, failure, attachments } = ended
  const problem = problemOf(ended)
  return {
    content: [{ type: 'text', text: problem ? `${problem.code}: ${problem.message}` : text }],
    structuredContent: {
      thread: of,
      run: run.id,
      status: 'ended',
      text,
      stopReason,
      ...defined({ output, failure, attachments }),
    },
    ...(problem && { isError: true }),
  }
}

const waits: Readonly<Record<string, string>> = {
  approval: 'waits for approval (approve_call, reject_call)',
  person: 'waits for a person (answer_question)',
  variables: 'waits for values of variables, which are given where secrets are kept, not here',
}

function waitOf({ thread: { id: of }, run }: Conversation, { status, items }: Waiting): CallToolResult {
  const lines = items.map(({ id: item, tool, why }) => `- ${item}: ${tool} ${waits[why] ?? `waits (${why})`}`)
  return {
    content: [
      {
        type: 'text',
        text: [
          `The turn is open: the thread ${of} is ${status}.`,
          ...lines,
          `get_run with thread ${of} and run ${run.id} gives the result when it has ended.`,
        ].join('\n'),
      },
    ],
    structuredContent: { thread: of, run: run.id, status, waitsFor: items.map(waitEntry) },
  }
}

function waitEntry({ id: item, why, tool, args, prompt }: InboxItem): object {
  return { id: item, why, tool, args, ...defined({ prompt }) }
}
