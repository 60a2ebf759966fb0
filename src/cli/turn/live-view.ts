/**
 * A turn on a terminal: the agent's words as they come and finished calls as lines, which are never touched again;
 * below these the running calls with their last progress, and the children. Redrawn only when an event comes.
 *
 * - Words of a broken attempt stay on the screen, marked, because a terminal cannot take back what has scrolled.
 * - What a call logs is written like finished calls, up to `mostLogged` lines of each; the rest is seen in its
 *   running line and counted at its end.
 */
import { defined } from '../../core/defined.js'
import type { RemoteThreadChange } from '../../client.js'
import type { DeltaEvent } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { counted, oneLine, outputText, preview } from '../format.js'
import type { CliOutput, Colour } from '../output.js'
import { label, visible } from '../visible.js'
import { callLine, callName, durationOf, speakerOf, waitsFor } from './call-line.js'
import { createCalls } from './calls.js'
import type { CallChange, ShownCall, ShownHoldReason } from './calls.js'
import { createChildRows } from './child-rows.js'
import { progressIn } from './progress.js'
import { exitOfSummary, summaryLine } from './summary.js'
import type { TurnSummary } from './summary.js'
import type { ShownEvent, View, TurnViewOptions } from './view.js'
import { modelWaitLine, waitAfter } from './waiting-for.js'
import type { ShownModelWait } from './waiting-for.js'

const frames = ['◐', '◓', '◑', '◒']
const mostLogged = 20

interface Row {
  readonly call: ShownCall
  readonly held?: ShownHoldReason
  readonly returned?: true
  /** The last that its body told of itself. */
  readonly progress?: string
  /** Lines of its log so far. */
  readonly logged?: number
}

/** The time before the args: these may be cut, that must be seen. So must all of a failure, which is wrapped. */
function answerLine({ paint, fit }: CliOutput, change: CallChange): string | undefined {
  if (change.state !== 'answered') return callLine(paint, change, '')
  const { ok } = change.outcome
  const details = `${durationOf(change)} ${preview(change.call.args, ok ? 200 : 40)}`.trim()
  const line = callLine(paint, change, paint('dim', details))
  return line !== undefined && ok ? fit(line) : line
}

/** What is shown besides words and calls. */
function asideOf(paint: CliOutput['paint'], event: ShownEvent, echoed: string | undefined): string | undefined {
  if (event.type === 'message.received' && event.role === 'user' && !event.silent && event.id !== echoed)
    return paint('dim', `> ${oneLine(event.text, 200)}`)
  return event.type === 'thread.paused' ? paint('yellow', '‖ the thread was paused') : undefined
}

function markOf(code: ExitCode): readonly [mark: string, colour: Colour] {
  if (code === exitCode.ok) return ['✓', 'green']
  return code === exitCode.waiting ? ['‖', 'yellow'] : ['✗', 'red']
}

function endLine(paint: CliOutput['paint'], summary: TurnSummary): string {
  const [mark, colour] = markOf(exitOfSummary(summary))
  return `${paint(colour, mark)} ${paint('dim', oneLine(summaryLine(summary), 1_000))}`
}

export function createLiveView(out: CliOutput, { thread, echoed }: TurnViewOptions): View {
  const { paint } = out
  const words = createWords(out)
  const calls = createCalls()
  const children = createChildRows(paint, thread)
  const rows = createRows(out, words)
  let thinking = false
  let modelWait: ShownModelWait | undefined
  let frame = 0

  function bottom(): readonly string[] {
    // Nothing may come between words.
    if (words.open()) return []
    const turning = frames[frame++ % frames.length] ?? ''
    const doing = modelWait ? `waits for ${modelWaitLine(modelWait)}` : 'thinking'
    return [
      ...rows.lines(turning),
      ...(thinking && rows.size() === 0 ? [paint('dim', `${turning} ${doing}`)] : []),
      ...children.lines(turning),
    ]
  }

  function takeOwn(change: RemoteThreadChange, event: ShownEvent): void {
    modelWait = waitAfter(event, modelWait)
    thinking = change.value.status === 'thinking' && !words.begun(event)
    // Taken away before words come: they go on where the last ones ended.
    if (!thinking && rows.size() === 0) out.show([])
    words.aside(asideOf(paint, event, echoed))
    words.take(event)
    rows.takeProgress(event)
    for (const each of calls.take(change)) rows.take(each)
  }

  return {
    take(change) {
      const { event } = change
      if (!event) return
      children.take(change)
      // The words of children are for their parents.
      if (event.thread === thread) takeOwn(change, event)
      else if (!('seq' in event)) return
      out.show(bottom())
    },
    end(summary) {
      out.show([])
      words.line(endLine(paint, summary))
    },
  }
}

/** The calls that run or wait, a line each at the bottom of the screen; what becomes of them is written above. */
function createRows(out: CliOutput, words: Words) {
  const { paint } = out
  const rows = new Map<string, Row>()

  function close(call: ShownCall): void {
    const unseen = (rows.get(call.id)?.logged ?? 0) - mostLogged
    if (unseen > 0) words.line(paint('dim', `· ${label(call.tool)}: … and ${counted(unseen, 'more line')}`))
    rows.delete(call.id)
  }

  function change(changed: CallChange): void {
    const { state, call } = changed
    if (call.child?.blocking === false) rows.delete(call.id)
    else if (state === 'held') rows.set(call.id, { call, held: changed.why })
    else if (state === 'returned') rows.set(call.id, { ...rows.get(call.id), call, returned: true })
    else if (state === 'answered' || state === 'denied') close(call)
    else rows.set(call.id, { call })
  }

  return {
    size: () => rows.size,
    take(changed: CallChange): void {
      change(changed)
      // Their rows show these.
      const isRow = changed.state === 'asked' || changed.state === 'held'
      words.aside(isRow ? undefined : answerLine(out, changed))
    },
    takeProgress(event: ShownEvent): void {
      const progress = progressIn(event)
      const row = progress && rows.get(progress.call)
      if (!row || row.held) return
      const text = preview(progress.text, 200)
      if (event.type !== 'tool.log') return void rows.set(progress.call, { ...row, progress: text })
      const logged = (row.logged ?? 0) + 1
      if (logged <= mostLogged) words.line(paint('dim', `· ${label(event.tool)}: ${oneLine(event.text, 500)}`))
      rows.set(progress.call, { ...row, logged, ...defined({ progress: logged > mostLogged ? text : undefined }) })
    },
    /** A child that is at work has a line of its own. */
    lines: (turning: string): readonly string[] =>
      [...rows.values()]
        .filter(({ call, held, returned }) => !call.child || held || returned)
        .map((row) => rowLine(paint, row, turning)),
  }
}

function rowLine(paint: CliOutput['paint'], { call, held, returned, progress }: Row, turning: string): string {
  const name = callName(call)
  const args = paint('dim', preview(call.args, progress === undefined ? 200 : 40))
  if (held) return `${paint('yellow', '‖')} ${name} ${paint('yellow', waitsFor(held))} ${args}`
  if (returned) return `${paint('dim', '✓')} ${name} ${paint('dim', 'done, waits for the calls before it')} ${args}`
  return `${paint('cyan', turning)} ${name} ${args}${progress === undefined ? '' : ` · ${progress}`}`
}

type Words = ReturnType<typeof createWords>

/** The text of the step that is being spoken, and how much of it is on the screen. */
function createWords(out: CliOutput) {
  let speaker: string | undefined
  let written = ''
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
  /** Of two sides, the one that speaks is named when it is another one than before. */
  const introduce = (event: Pick<DeltaEvent & { readonly type: 'text.delta' }, 'side' | 'label'>): void => {
    const who = speakerOf(event)
    if (who === undefined || who === speaker) return
    speaker = who
    line(out.paint('bold', `${who}:`))
  }
  /** Writes what is new of the text, or all of it where it does not continue what was written. */
  const become = (text: string): void => {
    if (!text.startsWith(written)) {
      line(out.paint('yellow', '↻ the reply broke off; once more:'))
      written = ''
    }
    print(text.slice(written.length))
    written = text
  }
  return {
    line,
    /** Writes a line, if there is one. */
    aside: (text: string | undefined): void => void (text !== undefined && line(text)),
    /** Whether the last line may go on. */
    open: () => open,
    /** Whether the reply has begun with this event, or before it. */
    begun: (event: ShownEvent): boolean => {
      if (event.type === 'stream.reset') return event.text !== ''
      return event.type === 'text.delta' || event.type === 'model.replied' || written !== ''
    },
    take(event: ShownEvent): void {
      if (event.type === 'turn.started') speaker = undefined
      if (event.type === 'turn.ended' && event.text) line(visible(event.text))
      if (event.type === 'turn.ended' && event.output !== undefined) line(outputText(event.output).trimEnd())
      if ((event.type === 'text.delta' || event.type === 'model.replied') && event.side && event.text !== '')
        introduce(event)
      if (event.type === 'text.delta') become(written.slice(0, event.offset) + event.text)
      if (event.type === 'stream.reset') become(event.text)
      if (event.type !== 'model.replied') return
      become(event.text)
      if (open) out.print('\n')
      open = false
      written = ''
    },
  }
}
