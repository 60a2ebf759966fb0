/**
 * A turn as it happens. Three ways to show it, one for each mode of output: events for programs, whole lines for
 * pipes and logs, and a live view for a terminal (live-view.ts).
 *
 * VW1 Plain: stdout has the agent's words alone, so that `answer=$(skein run …)` works; the rest is on stderr.
 * VW2 Plain: what tools log is shown, because someone wrote it to be read; progress is for screens, and a log of it is noise.
 */
import type { SkeinEvent } from '../index.js'
import { callLine, tookOf } from './call-line.js'
import { createCalls } from './calls.js'
import { exitCode } from './exit.js'
import { harmless, oneLine } from './format.js'
import { createLiveView } from './live-view.js'
import type { Output } from './output.js'
import { exitOfTally, tallyLine } from './tally.js'
import type { Tally } from './tally.js'

export interface View {
  take(event: SkeinEvent): void
  /** The turn ended, or stands still. */
  end(tally: Tally): void
}

export function createView(out: Output): View {
  if (out.mode === 'json') return createJsonView(out)
  return out.mode === 'live' ? createLiveView(out) : createPlainView(out)
}

function createJsonView(out: Output): View {
  return {
    take: (event) => out.json(event),
    end: (tally) => out.json({ type: 'run.ended', ...tally, exitCode: exitOfTally(tally) }),
  }
}

function createPlainView(out: Output): View {
  const calls = createCalls()
  return {
    take(event) {
      if (event.type === 'model.replied' && event.text !== '') out.print(`${harmless(event.text).replace(/\n*$/, '')}\n`)
      if (event.type === 'tool.log') out.note(`· ${event.tool}: ${oneLine(event.text, 2_000)}`)
      for (const news of calls.take(event)) {
        const line = callLine(out.paint, news, news.state === 'answered' ? tookOf(news) : '')
        if (line !== undefined) out.note(line)
      }
    },
    end: (tally) => out.note(`${exitOfTally(tally) === exitCode.ok ? '✓' : tally.standstill ? '‖' : '✗'} ${tallyLine(tally)}`),
  }
}
