/** Threads whose agent asks for calls: the smallest app for it, its beginning, and what came of it. */
import type { Definition, ToolDefinition } from '../../src/agent/define.js'
import type { Message } from '../../src/core/records/message.js'
import type { RequestedCall } from '../../src/models/port.js'
import type { Skein } from '../../src/runtime/skein.js'
import type { Thread } from '../../src/runtime/handles/thread.js'
import { calls, tinyApp } from './app.js'
import { until } from './deferred.js'

/** What the model read of its calls. */
export function results(messages: readonly Message[]): string[] {
  return messages.filter(({ role }) => role === 'tool').map(({ text }) => text)
}

/**
 * An agent that answers whatever it is told with these calls (default: each tool once), and their results with "done".
 */
export function asking(
  tools: readonly ToolDefinition[],
  asked: readonly (string | RequestedCall)[] = tools.map(({ name }) => name),
): readonly Definition[] {
  return tinyApp({ tools, script: ({ messages }) => (messages.at(-1)?.role === 'user' ? calls(...asked) : 'done') }).app
}

/** Thread `t` with the run `m`. */
export async function begin(skein: Skein): Promise<Thread> {
  const thread = await skein.threads.create({ agent: 'helper', id: 't' })
  await thread.send('go', { id: 'm' }).accepted()
  return thread
}

export function pending(skein: Skein, count: number): Promise<void> {
  return until(`${count} to wait`, async () => (await skein.inbox.list()).length === count)
}
