/**
 * A turn on a terminal: the agent's words as they come, finished calls as lines above, running ones below. Moves
 * only when an event comes; what is written above the running lines is never touched again.
 *
 * LV1 Words of a broken attempt stay on the screen, marked, because a terminal cannot take back what has scrolled.
 */
import type { SkeinEvent } from '../index.js'
import { exitCode } from './exit.js'
import { duration, failureLine, harmless, oneLine, preview } from './format.js'
import type { Output } from './output.js'
import { exitOfTally, tallyLine } from './tally.js'
import { createCalls } from './calls.js'
import type { CallNews, ShownCall } from './calls.js'
import type { View } from './view.js'

const frames = ['◐', '◓', '◑', '◒']

export function createLiveView(out: Output): View {
  const { paint } = out
  const words = createWords(out)
  const calls = createCalls()
  const running = new Map<string, ShownCall & { readonly held?: string }>()
  let thinking = false
  let frame = 0

  function bottom(): readonly string[] {
    const turning = frames[frame++ % frames.length] ?? ''
    if (thinking) return [paint('dim', `${turning} thinking`)]
    return [...running.values()].map(({ tool, args, held }) => {
      const rest = paint('dim', preview(args, 200))
      return held ? `${paint('yellow', '‖')} ${tool} ${paint('yellow', `waits: ${held}`)} ${rest}` : `${paint('cyan', turning)} ${tool} ${rest}`
    })
  }

  function called(news: CallNews): void {
    const { call } = news
    if (news.state !== 'answered') return void running.set(call.id, news.state === 'held' ? { ...call, held: news.why } : call)
    running.delete(call.id)
    const { outcome, tookMs } = news
    // The time before the args: these may be cut or wrapped, that must be seen.
    const what = `${call.tool} ${paint('dim', `${duration(tookMs)} ${preview(call.args, 60)}`)}`
    if (outcome.ok) words.line(`${paint('green', '✓')} ${what}`)
    else words.line(`${paint('red', '✗')} ${what} ${paint('red', failureLine(outcome.failure, 200))}`)
  }

  return {
    take(event) {
      thinking = thinks(event, thinking, running.size)
      // Taken away before words come: they go on where the last ones ended.
      if (!thinking && running.size === 0) out.show([])
      if (event.type === 'message.received' && event.role === 'user' && !event.silent) words.line(paint('dim', `> ${oneLine(event.text, 200)}`))
      if (event.type === 'thread.paused') words.line(paint('yellow', '‖ the thread was paused'))
      words.take(event)
      for (const news of calls.take(event)) called(news)
      if (event.type === 'tool.result' && running.size === 0) thinking = true
      out.show(bottom())
    },
    end(tally) {
      out.show([])
      const code = exitOfTally(tally)
      const [mark, colour] = code === exitCode.ok ? (['✓', 'green'] as const) : code === exitCode.waiting ? (['‖', 'yellow'] as const) : (['✗', 'red'] as const)
      words.line(`${paint(colour, mark)} ${paint('dim', oneLine(tallyLine(tally), 1_000))}`)
    },
  }
}

function thinks(event: SkeinEvent, before: boolean, running: number): boolean {
  if (event.type === 'turn.started' || event.type === 'thread.resumed') return true
  if (event.type === 'text.delta' || event.type === 'model.replied' || event.type === 'turn.ended' || event.type === 'thread.paused') return false
  if (event.type === 'stream.reset') return event.text === ''
  return event.type === 'tool.result' ? running === 0 : before
}

/** The text of the step that is being spoken, and how much of it is on the screen. */
function createWords(out: Output) {
  let said = ''
  let open = false
  const print = (text: string): void => {
    const shown = harmless(text)
    if (shown === '') return
    out.print(shown)
    open = !shown.endsWith('\n')
  }
  const line = (text: string): void => {
    if (open) out.print('\n')
    open = false
    out.print(`${text}\n`)
  }
  /** The text is now this much: the rest of it, or all of it anew (LV1). */
  const become = (text: string): void => {
    if (!text.startsWith(said)) {
      line(out.paint('yellow', '↻ the reply broke off; once more:'))
      said = ''
    }
    print(text.slice(said.length))
    said = text
  }
  return {
    line,
    take(event: SkeinEvent): void {
      if (event.type === 'text.delta') become(said.slice(0, event.offset) + event.text)
      if (event.type === 'stream.reset') become(event.text)
      if (event.type !== 'model.replied') return
      become(event.text)
      if (open) out.print('\n')
      open = false
      said = ''
    },
  }
}
