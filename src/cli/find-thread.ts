/** The thread that `run` and `chat` speak to: found by its id, or created. */
import { defined } from '../core/defined.js'
import type { RemoteThread } from '../client.js'
import type { OpenContext, OpenedStore, OpenRequest } from './open.js'
import type { CommandContext } from './run-command.js'
import { withAnyClient } from './store.js'
import { standingOf } from './turn/watch.js'
import type { ThreadStanding } from './turn/watch.js'

/** Where the thread stands before the host opens: that starts what is outstanding, which may end in a moment. */
export async function lookUpThread(
  { store }: CommandContext,
  { thread: id, create }: { readonly thread?: string; readonly create: boolean },
): Promise<ThreadStanding & { readonly root?: string }> {
  if (id === undefined) return { seq: 0 }
  const { SkeinError } = await import('../index.js')
  try {
    return await withAnyClient(store, async ({ threads }) => {
      const thread = await threads.get(id)
      return { ...(await standingOf(thread)), root: (await thread.info()).root }
    })
  } catch (thrown) {
    // The thread will be created, and maybe the store with it.
    if (!create || !SkeinError.is(thrown)) throw thrown
    return { seq: 0 }
  }
}

export async function findThread(
  context: CommandContext,
  opened: OpenedStore,
  { request, settings: { files, budget }, create }: OpenContext & { readonly create: boolean },
): Promise<RemoteThread> {
  const { agent, thread: id, tag: tags = [] } = request
  const { client, agents } = opened
  const found = id === undefined ? undefined : await existing(context, opened, { id, request, create })
  if (found) return found
  return client.threads.create({
    agent: agent ?? (await onlyAgent(agents)),
    tags,
    files,
    ...defined({ budget, id }),
  })
}

interface Lookup {
  readonly id: string
  readonly request: OpenRequest
  readonly create: boolean
}

/** The thread with this id; undefined where it can be created. */
async function existing(
  { out }: CommandContext,
  { client: { threads }, agents }: OpenedStore,
  { id, request, create }: Lookup,
): Promise<RemoteThread | undefined> {
  const { SkeinError } = await import('../index.js')
  const { agent } = request
  try {
    const thread = await threads.get(id)
    const ignored = ignoredOptions(request)
    if (ignored.length > 0) out.note(`thread ${id} exists; its ${ignored.join(' and ')} stay as they are`)
    // Creating it once more lets the store check that the agent is the same.
    return agent === undefined ? thread : await threads.create({ id, agent })
  } catch (thrown) {
    const missing = SkeinError.is(thrown, 'UNKNOWN_THREAD')
    if (!missing || !create) throw thrown
    if (agent === undefined && agents.length !== 1)
      throw new SkeinError(
        'UNKNOWN_THREAD',
        `there is no thread ${JSON.stringify(id)} in this store; to make it, or to go on with one that was ` +
          `created without a host, name its agent with --agent <name>${agentList(agents)}`,
      )
    return undefined
  }
}

/** Options that only a new thread takes. */
function ignoredOptions({ tag, file, budget }: OpenRequest): readonly string[] {
  return Object.entries({ tags: tag, files: file, budget })
    .filter(([, values = []]) => values.length > 0)
    .map(([name]) => name)
}

function agentList(agents: readonly string[]): string {
  return agents.length === 0 ? '' : ` (the app has: ${agents.join(', ')})`
}

async function onlyAgent(agents: readonly string[]): Promise<string> {
  const [only, ...others] = agents
  if (only !== undefined && others.length === 0) return only
  const { SkeinError } = await import('../index.js')
  throw new SkeinError(
    'BAD_OPTION',
    `name the agent with --agent <name>${agentList(agents)}, or a thread to continue with --thread <id>`,
  )
}
