/**
 * A turn as it happens, and the children that work for it. Three ways to show it, one for each mode of output: events
 * for programs, whole lines for pipes and logs, and a live view for a terminal (live-view.ts).
 *
 * - Plain: stdout has the agent's words alone, so that `answer=$(skein run …)` works; the rest is on stderr. Of two
 *   sides it says whose words they are.
 * - Plain: what tools log is shown, because someone wrote it to be read; progress is for screens, and a log of it
 *   is noise.
 * - Plain: of a child its beginning and its end are shown, what it waits for and what its tools log; its words are
 *   for its parent.
 */
import type { SkeinEvent } from '../../index.js'
import { callLine, durationOf, speakerOf } from './call-line.js'
import { createCalls } from './calls.js'
import type { CallNews } from './calls.js'
import { exitCode } from '../exit.js'
import { createChildren } from './children.js'
import { oneLine, outputText } from '../format.js'
import { label, visible } from '../visible.js'
import { createLiveView } from './live-view.js'
import type { CliOutput } from '../output.js'
import { exitOfSummary, summaryLine } from './summary.js'
import type { TurnSummary } from './summary.js'

export interface View {
  take(event: SkeinEvent): void
  /** The turn ended, or stands still. */
  end(tally: TurnSummary): void
}

export interface ViewOptions {
  readonly thread: string
  /** The id of a message that the terminal shows already. */
  readonly echoed?: string
}

export function createView(out: CliOutput, options: ViewOptions): View {
  if (out.mode === 'json') return createJsonView(out)
  return out.mode === 'live' ? createLiveView(out, options) : createPlainView(out, options)
}

function createJsonView(out: CliOutput): View {
  return {
    take: (event) => out.json(event),
    end: (tally) => out.json({ type: 'run.ended', ...tally, exitCode: exitOfSummary(tally) }),
  }
}

/** Of a child too: someone has to act, or did. */
const people: ReadonlySet<CallNews['state']> = new Set(['held', 'freed', 'denied'])

function createPlainView(out: CliOutput, { thread }: ViewOptions): View {
  const calls = new Map<string, ReturnType<typeof createCalls>>()
  const family = createChildren()
  /** `boss-1 › writer-1 › `, of a thread below the one that is watched. */
  const whose = ({ path }: SkeinEvent): string =>
    path
      .slice(path.indexOf(thread) + 1)
      .map((id) => `${family.label(id)} › `)
      .join('')
  const say = (event: SkeinEvent): void => {
    if (event.type === 'turn.ended' && event.output !== undefined) return out.print(outputText(event.output))
    // What a turn came to by a call stands in no reply.
    if ((event.type !== 'model.replied' && event.type !== 'turn.ended') || !event.text) return
    const who = event.type === 'model.replied' && event.side ? `${speakerOf(event)}: ` : ''
    out.print(`${who}${visible(event.text).replace(/\n*$/, '')}\n`)
  }
  return {
    take(event) {
      const own = event.thread === thread
      const known = calls.get(event.thread) ?? createCalls()
      calls.set(event.thread, known)
      family.take(event)
      if (own) say(event)
      if (event.type === 'tool.log') out.note(`· ${whose(event)}${label(event.tool)}: ${oneLine(event.text, 2_000)}`)
      for (const news of known.take(event)) {
        if (!own && !news.call.child && !people.has(news.state)) continue
        const named = { ...news, call: { ...news.call, tool: `${whose(event)}${news.call.tool}` } }
        const line = callLine(out.paint, named, news.state === 'answered' ? durationOf(news) : '')
        if (line !== undefined) out.note(line)
      }
    },
    end: (tally) =>
      out.note(`${exitOfSummary(tally) === exitCode.ok ? '✓' : tally.standstill ? '‖' : '✗'} ${summaryLine(tally)}`),
  }
}
