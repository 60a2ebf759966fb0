/**
 * Threads as resources of MCP: what is known of one, its messages, its files. They are read through the routes, so what
 * a key may not see does not exist here either.
 */
import { ResourceNotFoundError } from '@modelcontextprotocol/server'
import type { ListResourcesResult, ReadResourceResult } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { defined } from '../../core/defined.js'
import { HttpProblem, badRequest } from '../problem.js'
import type { Route } from '../route.js'
import { callRoute } from './route-tools.js'
import type { Arguments, McpScene } from './route-tools.js'

const json = 'application/json'

export const resourceTemplates = [
  {
    uriTemplate: 'skein://threads/{thread}',
    name: 'thread',
    description: 'What is known of a thread: its agent, its status, what it waits for',
    mimeType: json,
  },
  {
    uriTemplate: 'skein://threads/{thread}/messages',
    name: 'messages',
    description: 'The messages of a thread, oldest first, up to 1,000; the tool list_messages reads on',
    mimeType: json,
  },
  {
    uriTemplate: 'skein://threads/{thread}/files/{+path}',
    name: 'file',
    description: 'A file of a thread, or the entries of a directory',
  },
]

const agentsResource = {
  uri: 'skein://agents',
  name: 'agents',
  description: 'Agents that a thread can be created with',
  mimeType: json,
}

const pageSize = 100
const pageSchema = z.object({
  threads: z.array(z.looseObject({ thread: z.string(), agent: z.string(), status: z.string() })),
  next: z.string().optional(),
})

/** The messages of each thread, a page at a time. */
export async function listResources(scene: McpScene, cursor: string | undefined): Promise<ListResourcesResult> {
  const listed = await read(scene, 'list_threads', { limit: pageSize, ...defined({ cursor }) })
  const { threads, next } = pageSchema.parse(listed)
  return {
    resources: [
      ...(cursor === undefined && scene.skein.definitions ? [agentsResource] : []),
      ...threads.map(({ thread, agent, status }) => ({
        uri: `skein://threads/${thread}/messages`,
        name: thread,
        description: `The messages of a thread of ${agent}, which is ${status}`,
        mimeType: json,
      })),
    ],
    ...defined({ nextCursor: next }),
  }
}

const threadUri = /^skein:\/\/threads\/([\w-]{1,64})(\/messages|\/files(?:\/(.*))?)?$/

export async function readResource(scene: McpScene, uri: string): Promise<ReadResourceResult> {
  const text = async (name: string, args: Arguments): Promise<ReadResourceResult> => ({
    contents: [{ uri, mimeType: json, text: JSON.stringify(await read(scene, name, args)) }],
  })
  try {
    if (uri === agentsResource.uri) return await text('list_agents', {})
    const [, thread, part = '', path = ''] = threadUri.exec(uri) ?? []
    if (thread === undefined) throw new ResourceNotFoundError(uri)
    if (part === '') return await text('get_thread', { thread })
    if (part === '/messages') return await text('list_messages', { thread, limit: 1_000 })
    return await readFile(scene, uri, { thread, path: decoded(path) })
  } catch (thrown) {
    if (thrown instanceof HttpProblem && thrown.status === 404) throw new ResourceNotFoundError(uri, thrown.message)
    throw thrown
  }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw badRequest('the path is not encoded as it should be')
  }
}

/** More would be held in memory several times. */
const largestFile = 10 * 2 ** 20

async function readFile(
  scene: McpScene,
  uri: string,
  file: { readonly thread: string; readonly path: string },
): Promise<ReadResourceResult> {
  const answer = await read(scene, 'read_file', file)
  if (!(answer instanceof Response)) throw new Error('the route gives no file')
  const type = answer.headers.get('content-type') ?? ''
  if (type.startsWith(json)) return { contents: [{ uri, mimeType: json, text: await answer.text() }] }
  const size = Number(answer.headers.get('content-length'))
  if (size > largestFile) {
    await answer.body?.cancel()
    throw badRequest(`the file has ${size} bytes; a resource has at most ${largestFile}`)
  }
  const bytes = Buffer.from(await answer.arrayBuffer())
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes)
    ? { contents: [{ uri, mimeType: 'text/plain', text }] }
    : { contents: [{ uri, mimeType: 'application/octet-stream', blob: bytes.toString('base64') }] }
}

function read(scene: McpScene, name: string, args: Arguments): Promise<unknown> {
  const found: Route | undefined = scene.routes.find((each) => each.name === name)
  if (!found) throw new Error(`there is no route ${name}`)
  return callRoute(scene, found, args)
}
