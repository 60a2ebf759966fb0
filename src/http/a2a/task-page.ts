/** A page of the threads that are tasks of one agent, as its client may see them. */
import { z } from 'zod'
import type { Thread } from '../../index.js'
import { defined } from '../../core/defined.js'
import { taskTags } from './task.js'
import type { A2aScene } from './methods.js'

const pageSchema = z.object({ threads: z.array(z.looseObject({ thread: z.string() })), next: z.string().optional() })
const defaultSize = 50

export interface TaskPage {
  readonly threads: readonly Thread[]
  readonly next?: string
  readonly size: number
}

export async function threadPage(
  { skein, agent }: A2aScene,
  {
    contextId,
    pageSize,
    pageToken,
  }: { contextId?: string | undefined; pageSize?: number | undefined; pageToken?: string | undefined },
  list: (args: Readonly<Record<string, unknown>>) => Promise<unknown>,
): Promise<TaskPage> {
  const size = pageSize || defaultSize
  const tag = taskTags(contextId).at(-1)
  const listed = pageSchema.parse(await list({ agent, tag, limit: size, ...defined({ cursor: pageToken }) }))
  const threads = await Promise.all(listed.threads.map(({ thread }) => skein.threads.get(thread)))
  return { threads, size, ...defined({ next: listed.next }) }
}
