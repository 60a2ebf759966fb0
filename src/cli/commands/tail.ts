/** `skein tail`: the events of a thread, a line each, from the beginning or a cursor on, and then as they come. */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { SkeinClient, SkeinEvent } from '../../index.js'
import { callLine, speakerOf } from '../turn/call-line.js'
import { createCalls } from '../turn/calls.js'
import type { CallNews } from '../turn/calls.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { clockTime, failureLine, preview } from '../format.js'
import type { CliOutput } from '../output.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { withClient } from '../store.js'
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
        withClient(context.store, (client) => tail(context, client, { id, ...options })),
      ),
    )
}

async function tail(
  context: CommandContext,
  client: SkeinClient,
  { id, from, follow }: Options & { readonly id: string },
): Promise<ExitCode> {
  const { out } = context
  const thread = await client.threads.get(id)
  const stop = new AbortController()
  context.onStop(async () => stop.abort())
  void out.gone.then(() => stop.abort())
  const show = createTail(out)
  if (follow && !(await client.hosted())) out.note('no host serves this store now; waiting for one (Ctrl-C ends this)')
  for await (const event of thread.events({
    signal: stop.signal,
    ...defined({ from }),
    ...(!follow && { until: 'now' }),
  })) {
    show(event)
    // Nothing can come after these.
    if (event.type === 'thread.terminated' || event.type === 'thread.ended' || stop.signal.aborted) break
  }
  return exitCode.ok
}

/** Of these the line of the call says it all. */
const saidByCall: ReadonlySet<SkeinEvent['type']> = new Set([
  'tool.result',
  'call.began',
  'call.held',
  'call.decided',
  'call.answered',
  'call.settled',
  'child.called',
  'child.reported',
])

function createTail(out: CliOutput): (event: SkeinEvent) => void {
  if (out.mode === 'json') return (event) => out.json(event)
  const calls = createCalls()
  return (event) => {
    if (event.type === 'tree.reset')
      return out.note(
        'what was shown before this is of a thread that was deleted; the one that has its id now follows from its ' +
          'beginning',
      )
    // Deltas are for live views: the whole text follows.
    if (!('seq' in event)) return
    const time = out.paint('dim', clockTime(event.at))
    if (!saidByCall.has(event.type)) out.print(`${time} ${label(`${event.type} ${details(event)}`.trimEnd())}\n`)
    for (const news of calls.take(event)) {
      const line = callLine(out.paint, news, out.paint('dim', given(news)))
      if (line !== undefined) out.print(`${time} ${line}\n`)
    }
  }
}

function details(event: SkeinEvent): string {
  switch (event.type) {
    case 'thread.created':
      return `agent ${event.agent}${event.tags.length > 0 ? ` · tags ${event.tags.join(', ')}` : ''}`
    case 'message.received':
      return `${event.role}: ${preview(event.text, 2_000)}`
    case 'model.replied':
      return (
        `step ${event.step}${speakerOf(event) === undefined ? '' : `, ${speakerOf(event)}`}: ` +
        `${preview(event.text, 2_000)}`
      )
    case 'calls.made':
      return `step ${event.step}, without the model`
    case 'call.queued':
      return `${event.call.tool} ${preview(event.call.args, 500)}`
    case 'children.stopped':
      return `${event.how}: ${event.children.join(', ')}`
    case 'report.sent':
      return `to ${[...new Set(event.to.map(({ thread }) => thread))].join(', ')}`
    case 'thread.changed':
      return changed(event.changes)
    case 'turn.ended':
      return [
        event.reason,
        event.detail,
        event.failure && failureLine(event.failure),
        event.text !== undefined && preview(event.text, 2_000),
      ]
        .filter(Boolean)
        .join(' · ')
    case 'thread.paused':
    case 'thread.terminated':
      return event.reason ?? ''
    default:
      return ''
  }
}

function changed({ files = [], values = [] }: Extract<SkeinEvent, { type: 'thread.changed' }>['changes']): string {
  return preview([...files.map(({ op, path }) => `${op} ${path}`), ...values.map(({ key }) => key)].join(', '), 500)
}

/** What the call gave. */
function given(news: CallNews): string {
  if (news.state !== 'answered') return ''
  return [news.cached && 'cached', news.outcome.ok && preview(news.outcome.value, 500)].filter(Boolean).join(' ')
}
