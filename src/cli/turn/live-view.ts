/**
 * A turn on a terminal: the agent's words as they come, finished calls as lines above, running ones below with the
 * last that they said, and below these its children. Moves only when an event comes; what is written above the
 * running lines is never touched again.
 *
 * - Words of a broken attempt stay on the screen, marked, because a terminal cannot take back what has scrolled.
 * - What a call logs stands above like finished calls, up to `mostLogged` lines of each; the rest is seen in its
 *   running line and counted at its end.
 */
import type { SkeinEvent } from '../../index.js'
import { callLine, durationOf, speakerOf, waitsFor } from './call-line.js'
import { createCalls } from './calls.js'
import type { CallNews, ShownHoldReason, ShownCall } from './calls.js'
import { createChildRows } from './child-rows.js'
import { plainly } from './child-state.js'
import { exitCode } from '../exit.js'
import { counted, oneLine, outputText, preview } from '../format.js'
import { label, visible } from '../visible.js'
import { modelWaitLine, waitAfter } from './waiting-for.js'
import type { ShownModelWait } from './waiting-for.js'
import type { CliOutput } from '../output.js'
import { exitOfSummary, summaryLine } from './summary.js'
import type { TurnSummary } from './summary.js'
import type { View, ViewOptions } from './view.js'

const frames = ['◐', '◓', '◑', '◒']
const mostLogged = 20

interface Row {
  readonly call: ShownCall
  readonly held?: ShownHoldReason
  readonly returned?: true
  /** The last that it told of itself. */
  readonly said?: string
  /** Lines of its log so far. */
  readonly logged?: number
}

/** The time before the args: these may be cut, that must be seen. So must all of a failure, which is wrapped. */
function toldOf({ paint, fit }: CliOutput, news: CallNews): string | undefined {
  if (news.state !== 'answered') return callLine(paint, news, '')
  const line = callLine(
    paint,
    news,
    paint('dim', `${durationOf(news)} ${preview(news.call.args, news.outcome.ok ? 200 : 40)}`.trim()),
  )
  return line !== undefined && news.outcome.ok ? fit(line) : line
}

/** What is said besides words and calls. */
function asideOf(paint: CliOutput['paint'], event: SkeinEvent, echoed: string | undefined): string | undefined {
  if (event.type === 'message.received' && event.role === 'user' && !event.silent && event.id !== echoed)
    return paint('dim', `> ${oneLine(event.text, 200)}`)
  return event.type === 'thread.paused' ? paint('yellow', '‖ the thread was paused') : undefined
}

function endLine(paint: CliOutput['paint'], tally: TurnSummary): string {
  const code = exitOfSummary(tally)
  const [mark, colour] =
    code === exitCode.ok
      ? (['✓', 'green'] as const)
      : code === exitCode.waiting
        ? (['‖', 'yellow'] as const)
        : (['✗', 'red'] as const)
  return `${paint(colour, mark)} ${paint('dim', oneLine(summaryLine(tally), 1_000))}`
}

export function createLiveView(out: CliOutput, { thread, echoed }: ViewOptions): View {
  const { paint } = out
  const words = createWords(out)
  const calls = createCalls()
  const children = createChildRows(paint, thread)
  const rows = new Map<string, Row>()
  let thinking = false
  let waits: ShownModelWait | undefined
  let frame = 0

  function bottom(): readonly string[] {
    // Nothing may come between words.
    if (words.open()) return []
    const turning = frames[frame++ % frames.length] ?? ''
    // A child that is at work has a line of its own.
    const own = [...rows.values()]
      .filter(({ call, held, returned }) => !call.child || held || returned)
      .map((row) => rowLine(paint, row, turning))
    return [
      ...own,
      ...(thinking && rows.size === 0
        ? [paint('dim', `${turning} ${waits ? `waits for ${modelWaitLine(waits)}` : 'thinking'}`)]
        : []),
      ...children.lines(turning),
    ]
  }

  function called(news: CallNews): void {
    const { state, call } = news
    const away = call.child?.blocking === false
    if (away) rows.delete(call.id)
    else if (state === 'held') rows.set(call.id, { call, held: news.why })
    else if (state === 'returned') rows.set(call.id, { ...rows.get(call.id), call, returned: true })
    else if (state === 'answered' || state === 'denied') {
      const unseen = (rows.get(call.id)?.logged ?? 0) - mostLogged
      if (unseen > 0) words.line(paint('dim', `· ${label(call.tool)}: … and ${counted(unseen, 'more line')}`))
      rows.delete(call.id)
    } else rows.set(call.id, { call })
    // The rows show these.
    words.aside(state === 'asked' || state === 'held' ? undefined : toldOf(out, news))
  }

  function heard(event: Extract<SkeinEvent, { type: 'tool.log' | 'tool.progress' | 'tool.preliminary' }>): void {
    const row = rows.get(event.call)
    if (!row || row.held) return
    if (event.type !== 'tool.log')
      return void rows.set(event.call, { ...row, said: preview(plainly(event.event), 200) })
    const logged = (row.logged ?? 0) + 1
    if (logged <= mostLogged) words.line(paint('dim', `· ${label(event.tool)}: ${oneLine(event.text, 500)}`))
    rows.set(event.call, { ...row, logged, ...(logged > mostLogged && { said: preview(event.text, 200) }) })
  }

  return {
    take(event) {
      children.take(event)
      // What children say is for their parents.
      if (event.thread !== thread) return 'seq' in event ? out.show(bottom()) : undefined
      ;[thinking, waits] = [thinks(event, thinking), waitAfter(event, waits)]
      // Taken away before words come: they go on where the last ones ended.
      if (!thinking && rows.size === 0) out.show([])
      words.aside(asideOf(paint, event, echoed))
      words.take(event)
      if (event.type === 'tool.log' || event.type === 'tool.progress' || event.type === 'tool.preliminary') heard(event)
      const all = calls.take(event)
      for (const news of all) called(news)
      if (all.length > 0 && rows.size === 0 && !children.inLine()) thinking = true
      out.show(bottom())
    },
    end(tally) {
      out.show([])
      words.line(endLine(paint, tally))
    },
  }
}

function rowLine(paint: CliOutput['paint'], { call, held, returned, said }: Row, turning: string): string {
  const args = paint('dim', preview(call.args, said === undefined ? 200 : 40))
  if (held) return `${paint('yellow', '‖')} ${call.tool} ${paint('yellow', waitsFor(held))} ${args}`
  if (returned)
    return `${paint('dim', '✓')} ${call.tool} ${paint('dim', 'done, waits for the calls before it')} ${args}`
  return `${paint('cyan', turning)} ${call.tool} ${args}${said === undefined ? '' : ` · ${said}`}`
}

function thinks(event: SkeinEvent, before: boolean): boolean {
  switch (event.type) {
    case 'turn.started':
    case 'thread.resumed':
      return true
    case 'text.delta':
    case 'model.replied':
    case 'calls.made':
    case 'turn.ended':
    case 'thread.paused':
      return false
    case 'stream.reset':
      return event.text === ''
    default:
      return before
  }
}

/** The text of the step that is being spoken, and how much of it is on the screen. */
function createWords(out: CliOutput) {
  let speaker: string | undefined
  let said = ''
  let open = false
  const print = (text: string): void => {
    const shown = visible(text)
    if (shown === '') return
    out.print(shown)
    open = !shown.endsWith('\n')
  }
  const line = (text: string): void => {
    if (open) out.print('\n')
    open = false
    out.print(`${text}\n`)
  }
  /** Of two sides it is said who speaks, when that is another one. */
  const introduce = (event: Pick<SkeinEvent & { readonly type: 'text.delta' }, 'side' | 'label'>): void => {
    const who = speakerOf(event)
    if (who === undefined || who === speaker) return
    speaker = who
    line(out.paint('bold', `${who}:`))
  }
  /** The text is now this much: the rest of it, or all of it anew. */
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
    /** A line, if there is one. */
    aside: (text: string | undefined): void => void (text !== undefined && line(text)),
    /** The last line of it may go on. */
    open: () => open,
    take(event: SkeinEvent): void {
      if (event.type === 'turn.started') speaker = undefined
      if (event.type === 'turn.ended' && event.text) line(visible(event.text))
      if (event.type === 'turn.ended' && event.output !== undefined) line(outputText(event.output).trimEnd())
      if ((event.type === 'text.delta' || event.type === 'model.replied') && event.side && event.text !== '')
        introduce(event)
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
