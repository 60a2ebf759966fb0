/**
 * A turn as it happens. Three ways to show it, one for each mode of output: events for programs, whole lines for
 * pipes and logs, and a live view for a terminal (live-view.ts).
 *
 * VW1 Plain: stdout has the agent's words alone, so that `answer=$(skein run …)` works; the rest is on stderr.
 */
import type { SkeinEvent } from '../index.js'
import { createCalls } from './calls.js'
import type { CallNews } from './calls.js'
import { exitCode } from './exit.js'
import { duration, failureLine, harmless, preview } from './format.js'
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
      for (const news of calls.take(event)) out.note(callLine(news))
    },
    end: (tally) => out.note(`${exitOfTally(tally) === exitCode.ok ? '✓' : tally.standstill ? '‖' : '✗'} ${tallyLine(tally)}`),
  }
}

function callLine(news: CallNews): string {
  const { state, call } = news
  if (state === 'asked') return `→ ${call.tool} ${preview(call.args, 200)}`
  if (state === 'held') return `‖ ${call.tool} waits: ${news.why}`
  const took = `${call.tool} ${duration(news.tookMs)}`
  return news.outcome.ok ? `✓ ${took}` : `✗ ${took} ${failureLine(news.outcome.failure)}`
}
