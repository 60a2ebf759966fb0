/**
 * Shows a turn as it happens, and the children that work for it: as events for programs, as whole lines for pipes and
 * logs, or live on a terminal (live-view.ts), by the mode of output.
 *
 * - Plain: stdout has the agent's words alone, so that `answer=$(skein run …)` works; the rest is on stderr. Of two
 *   sides, each reply says whose words it has.
 * - Plain: what tools log is shown, because someone wrote it to be read; progress is not.
 * - Plain: a child's beginning and end, what it waits for and what its tools log are shown; its words are for its
 *   parent.
 */
import type { RemoteThreadChange } from '../../client.js'
import { exitCode } from '../exit.js'
import { oneLine, outputText } from '../format.js'
import type { CliOutput } from '../output.js'
import { label, visible } from '../visible.js'
import { callLine, durationOf, speakerOf } from './call-line.js'
import { createCalls } from './calls.js'
import type { CallChange } from './calls.js'
import { createChildren } from './children.js'
import { createLiveView } from './live-view.js'
import { exitOfSummary, summaryLine } from './summary.js'
import type { TurnSummary } from './summary.js'

export type ShownEvent = NonNullable<RemoteThreadChange['event']>

export interface View {
  take(change: RemoteThreadChange): void
  /** The turn ended, or stands still. */
  end(summary: TurnSummary): void
}

export interface TurnViewOptions {
  readonly thread: string
  /** The id of a message that the terminal shows already. */
  readonly echoed?: string
}

export function createView(out: CliOutput, options: TurnViewOptions): View {
  if (out.mode === 'json') return createJsonView(out)
  return out.mode === 'live' ? createLiveView(out, options) : createPlainView(out, options)
}

function createJsonView(out: CliOutput): View {
  return {
    take: ({ event }) => event && out.json(event),
    end: (summary) => out.json({ type: 'run.ended', ...summary, exitCode: exitOfSummary(summary) }),
  }
}

/** Shown of children too: someone has to act, or did. */
const byPeople: ReadonlySet<CallChange['state']> = new Set(['held', 'freed', 'denied'])

function createPlainView(out: CliOutput, { thread }: TurnViewOptions): View {
  const calls = createCalls()
  const children = createChildren()
  /** `boss-1 › writer-1 › `, of a thread below the one that is watched. */
  const prefix = (path: readonly string[]): string => {
    const own = path.indexOf(thread) + 1
    return path
      .slice(own)
      .map((_, index) => `${children.label(path.slice(0, own + index + 1))} › `)
      .join('')
  }
  return {
    take(change) {
      const { event, path } = change
      if (!event) return
      const isOwn = event.thread === thread
      children.take(change)
      if (isOwn) printWords(out, event)
      if (event.type === 'tool.log') out.note(`· ${prefix(path)}${label(event.tool)}: ${oneLine(event.text, 2_000)}`)
      for (const each of calls.take(change)) {
        if (!isOwn && !each.call.child && !byPeople.has(each.state)) continue
        const named = { ...each, call: { ...each.call, tool: `${prefix(path)}${each.call.tool}` } }
        const line = callLine(out.paint, named, each.state === 'answered' ? durationOf(each) : '')
        if (line !== undefined) out.note(line)
      }
    },
    end: (summary) => out.note(`${markOf(summary)} ${summaryLine(summary)}`),
  }
}

function printWords(out: CliOutput, event: ShownEvent): void {
  if (event.type === 'turn.ended' && event.output !== undefined) return out.print(outputText(event.output))
  // What a turn came to by a call is in no reply.
  if ((event.type !== 'model.replied' && event.type !== 'turn.ended') || !event.text) return
  const who = event.type === 'model.replied' && event.side ? `${speakerOf(event)}: ` : ''
  out.print(`${who}${visible(event.text).replace(/\n*$/, '')}\n`)
}

function markOf(summary: TurnSummary): string {
  if (exitOfSummary(summary) === exitCode.ok) return '✓'
  return summary.standstill ? '‖' : '✗'
}
