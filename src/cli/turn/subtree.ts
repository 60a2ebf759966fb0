/** A thread and all below it, as the store lists them: in order of creation. */
import { defined } from '../../core/defined.js'
import type { SkeinClient, ThreadInfo } from '../../index.js'

export async function subtree(
  { threads }: SkeinClient,
  { thread, root }: Pick<ThreadInfo, 'thread' | 'root'>,
): Promise<readonly ThreadInfo[]> {
  const found: ThreadInfo[] = []
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await threads.list({ root, limit: 1_000, ...defined({ cursor }) })
    found.push(...page.threads.filter(({ path }) => path.includes(thread)))
    cursor = page.next
  }
  return found
}
