/**
 * What happens in a run, as progress notifications of MCP, for clients that asked for them. A notification that cannot
 * be sent is lost: the result says everything.
 */
import type { ServerContext } from '@modelcontextprotocol/server'
import type { ThreadChange } from '../../index.js'

const longest = 200

/** The part of a change between two records. */
const fraction = 0.001

/** Tells what comes after the record `seen`; how far it is, is the number of the thread's records. */
export function createMcpProgress(
  { _meta, notify }: ServerContext['mcpReq'],
  seen: number,
): (change: ThreadChange) => void {
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return () => undefined
  let progress = seen
  return (change) => {
    const text = lineOf(change)
    const seq = change.event && 'seq' in change.event ? change.event.seq : undefined
    if (text === undefined || (seq !== undefined && seq <= seen)) return
    progress = Math.max(progress + fraction, seq ?? 0)
    const params = { progressToken, progress, message: text.slice(0, longest) }
    // The client may have gone.
    notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
}

function lineOf({ event }: ThreadChange): string | undefined {
  switch (event?.type) {
    case 'turn.started':
      return 'the turn has begun'
    case 'model.replied': {
      const tools = event.calls.map(({ tool }) => tool).join(', ')
      const words = event.text.trim()
      return [words, tools === '' ? '' : `calls ${tools}`].filter((part) => part !== '').join(' · ') || undefined
    }
    case 'tool.result':
      return `${event.tool}: ${event.outcome.ok ? 'done' : 'failed'}`
    case 'tool.progress':
      return `${event.tool}: ${typeof event.event === 'string' ? event.event : JSON.stringify(event.event)}`
    default:
      return undefined
  }
}
