/** `skein tail`: the events of a thread, a line each, from the beginning or a cursor on, and then as they come. */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { RemoteThread, RemoteThreadChange } from '../../client.js'
import type { DurableEvent } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { clockTime, failureLine, preview } from '../format.js'
import type { CliOutput } from '../output.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { withAnyClient } from '../store.js'
import type { AnyClient } from '../store.js'
import { callLine, speakerOf } from '../turn/call-line.js'
import { createCalls } from '../turn/calls.js'
import type { CallChange } from '../turn/calls.js'
import { label } from '../visible.js'

interface Options {
  readonly from?: string
  readonly follow: boolean
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .option('--from <cursor>', 'go on after the event with this cursor (events with --json have one)')
    .option('--no-follow', 'end when everything so far was shown')
    .action((id: string, options: Options) =>
      runCommand(command, (context) =>
        withAnyClient(context.store, (client) => tail(context, client, { id, ...options })),
      ),
    )
}

async function tail(
  context: CommandContext,
  client: AnyClient,
  { id, from, follow }: Options & { readonly id: string },
): Promise<ExitCode> {
  const { out } = context
  const thread = await client.threads.get(id)
  const stop = new AbortController()
  context.onStop(async () => stop.abort())
  void out.readerGone.then(() => stop.abort())
  if (follow && !(await client.hosted())) out.note('no host serves this store now; waiting for one (Ctrl-C ends this)')
  const range = { signal: stop.signal, ...defined({ from, until: follow ? undefined : ('now' as const) }) }
  if (out.mode === 'json') await printEvents(out, thread, range)
  else await printLines(out, client, { thread, range })
  return exitCode.ok
}

interface Range {
  readonly signal: AbortSignal
  readonly from?: string
  readonly until?: 'now'
}

async function printEvents(out: CliOutput, thread: Pick<RemoteThread, 'events'>, range: Range): Promise<void> {
  for await (const event of thread.events(range)) {
    out.json(event)
    if (endsThread(event) || range.signal.aborted) return
  }
}

async function printLines(
  out: CliOutput,
  client: AnyClient,
  { thread, range }: { readonly thread: RemoteThread; readonly range: Range },
): Promise<void> {
  const calls = createCalls()
  try {
    for await (const change of thread.view({ ...range, from: range.from ?? 'start' })) {
      for (const line of linesOf(out, change, calls.take(change))) out.print(`${line}\n`)
      if ((change.event && endsThread(change.event)) || range.signal.aborted) return
    }
  } catch (thrown) {
    if (!(await isAnother(client, thread, thrown))) throw thrown
    out.note(
      'what was shown before this is of a thread that was deleted; the one that has its id now follows from its ' +
        'beginning',
    )
    await printLines(out, client, { thread, range: { ...range, from: 'start' } })
  }
}

/** The thread was deleted while it was followed, and there is another one with its id. */
async function isAnother({ threads }: AnyClient, { id }: RemoteThread, thrown: unknown): Promise<boolean> {
  const { SkeinError } = await import('../../index.js')
  if (!SkeinError.is(thrown, 'UNKNOWN_THREAD')) return false
  return threads.get(id).then(
    () => true,
    () => false,
  )
}

/** Nothing can come after it. */
function endsThread({ type }: { readonly type: string }): boolean {
  return type === 'thread.terminated' || type === 'thread.ended'
}

/** Events of which the line of the call says it all. */
const toldByCall: ReadonlySet<DurableEvent['type']> = new Set([
  'tool.result',
  'call.began',
  'call.held',
  'call.decided',
  'call.answered',
  'call.settled',
  'child.called',
  'child.reported',
])

function linesOf({ paint }: CliOutput, { event }: RemoteThreadChange, calls: readonly CallChange[]): readonly string[] {
  if (event?.type === 'tool.log') return logLines(event)
  // Deltas are for live views: the whole text follows.
  if (!event || !('seq' in event)) return []
  const time = paint('dim', clockTime(event.at))
  const own = toldByCall.has(event.type) ? [] : [label(`${event.type} ${detailsOf(event)}`.trimEnd())]
  const ofCalls = calls.flatMap((change) => callLine(paint, change, paint('dim', resultOf(change))) ?? [])
  return [...own, ...ofCalls].map((line) => `${time} ${line}`)
}

/** What a body logs, with SKEIN_DEBUG=1 also the stack of what it threw; no line of it looks like one of ours. */
function logLines({ tool, text }: { readonly tool: string; readonly text: string }): readonly string[] {
  const [first = '', ...more] = text.split('\n')
  return [`· ${label(tool)}: ${label(first)}`, ...more.map((line) => `·   ${label(line.trim())}`)]
}

type Details = { readonly [Type in DurableEvent['type']]?: (event: Extract<DurableEvent, { type: Type }>) => string }

const details: Details = {
  'thread.created': ({ agent, tags }) => `agent ${agent}${tags.length > 0 ? ` · tags ${tags.join(', ')}` : ''}`,
  'message.received': ({ role, text }) => `${role}: ${preview(text, 2_000)}`,
  'model.replied': (event) => {
    const speaker = speakerOf(event)
    return `step ${event.step}${speaker === undefined ? '' : `, ${speaker}`}: ${preview(event.text, 2_000)}`
  },
  'context.reduced': ({ size, summary, failure }) =>
    [`${size} tokens are left`, summary && 'summarised', failure && `not summarised: ${failureLine(failure)}`]
      .filter(Boolean)
      .join(' · '),
  'calls.made': ({ step }) => `step ${step}, without the model`,
  'hook.decided': ({ point, step, index, asked, hide, add, outcome, text, dropped, goOn, block }) => {
    const at = { step: `before step ${step}`, result: `call_${step}_${index ?? 0}`, stop: 'before the end' }[point]
    const who = asked.map(({ hook, failure }) => (failure ? `${hook} failed: ${failure.message}` : hook)).join(', ')
    const what = [
      hide && `hides ${hide.length}`,
      add && `adds ${add.length}`,
      dropped && 'drops the result',
      (outcome ?? text !== undefined) && 'changes the result',
      goOn !== undefined && `goes on: ${preview(goOn, 500)}`,
      block && `${block.reason}: ${block.detail}`,
    ]
    return [at, who, ...what].filter(Boolean).join(' · ')
  },
  'call.queued': ({ call }) => `${call.tool} ${preview(call.args, 500)}`,
  'children.stopped': ({ how, children }) => `${how}: ${children.join(', ')}`,
  'report.sent': ({ to }) => `to ${[...new Set(to.map(({ thread }) => thread))].join(', ')}`,
  'thread.changed': ({ changes: { files = [], values = [] } }) =>
    preview([...files.map(({ op, path }) => `${op} ${path}`), ...values.map(({ key }) => key)].join(', '), 500),
  'turn.ended': ({ reason, detail, failure, text }) =>
    [reason, detail, failure && failureLine(failure), text !== undefined && preview(text, 2_000)]
      .filter(Boolean)
      .join(' · '),
  'thread.rewound': ({ to }) => `to record ${to}`,
  'thread.paused': ({ reason }) => reason ?? '',
  'thread.terminated': ({ reason }) => reason ?? '',
}

function detailsOf<Type extends DurableEvent['type']>(event: Extract<DurableEvent, { type: Type }>): string {
  return details[event.type]?.(event) ?? ''
}

/** What the call came to. */
function resultOf(change: CallChange): string {
  if (change.state !== 'answered') return ''
  return [change.cached && 'cached', change.outcome.ok && preview(change.outcome.value, 500)].filter(Boolean).join(' ')
}
