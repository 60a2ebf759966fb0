/** `skein tail`: the events of a thread, a line each, from the beginning or a cursor on, and then as they come. */
import type { Command } from 'commander'
import type { SkeinClient, SkeinEvent, Thread } from '../index.js'
import { createCalls } from './calls.js'
import { exitCode } from './exit.js'
import type { ExitCode } from './exit.js'
import { clockTime, failureLine, preview } from './format.js'
import type { Output } from './output.js'
import { perform, withClient } from './perform.js'
import type { Around } from './perform.js'
import { eventsSoFar } from './watch.js'

interface Options {
  readonly from?: string
  readonly follow: boolean
}

export function register(command: Command): void {
  command
    .argument('<thread>', 'id of the thread')
    .option('--from <cursor>', 'go on after the event with this cursor (events with --json have one)')
    .option('--no-follow', 'end when everything so far was shown')
    .action((id: string, options: Options) => perform(command, (around) => withClient(around.store, (client) => tail(around, client, { id, ...options }))))
}

async function tail(around: Around, client: SkeinClient, { id, from, follow }: Options & { readonly id: string }): Promise<ExitCode> {
  const { out } = around
  const thread = await client.threads.get(id)
  const stop = new AbortController()
  around.onStop(async () => stop.abort())
  void out.gone.then(() => stop.abort())
  const show = createTail(out)
  if (follow && !(await client.hosted())) out.note('no host serves this store now; waiting for one (Ctrl-C ends this)')
  const events = follow ? thread.events({ signal: stop.signal, ...(from !== undefined && { from }) }) : soFar(thread, from)
  for await (const event of events) {
    show(event)
    // Nothing can come after these.
    if (event.type === 'thread.terminated' || event.type === 'thread.ended' || stop.signal.aborted) break
  }
  return exitCode.ok
}

/** Read from the beginning, because a cursor does not tell whether anything comes after it. */
async function* soFar(thread: Thread, from: string | undefined): AsyncGenerator<SkeinEvent> {
  const { SkeinError } = await import('../index.js')
  let passed = from === undefined
  for await (const event of eventsSoFar(thread)) {
    if (passed) yield event
    else if ('cursor' in event && event.cursor === from) passed = true
  }
  if (!passed) throw new SkeinError('BAD_OPTION', `thread ${thread.id} has no event with the cursor ${JSON.stringify(from)}`)
}

function createTail(out: Output): (event: SkeinEvent) => void {
  if (out.mode === 'json') return (event) => out.json(event)
  const calls = createCalls()
  return (event) => {
    // Deltas are for live views: the whole text follows.
    if (!('seq' in event)) return
    const time = out.paint('dim', clockTime(event.at))
    const [what, ...more] = [`${event.type} ${details(event)}`.trimEnd(), ...callLines(out, calls, event)]
    if (event.type !== 'tool.result') out.print(`${time} ${what}\n`)
    for (const line of more) out.print(`${time} ${line}\n`)
  }
}

function details(event: SkeinEvent): string {
  switch (event.type) {
    case 'thread.created':
      return `agent ${event.agent}${event.tags.length > 0 ? ` · tags ${event.tags.join(', ')}` : ''}`
    case 'message.received':
      return `${event.role}: ${preview(event.text, 2_000)}`
    case 'model.replied':
      return `step ${event.step}: ${preview(event.text, 2_000)}`
    case 'call.held':
      return `call_${event.step}_${event.index} waits: ${event.why}`
    case 'turn.ended':
      return [event.reason, event.detail, event.failure && failureLine(event.failure)].filter(Boolean).join(' · ')
    case 'thread.paused':
    case 'thread.terminated':
      return event.reason ?? ''
    default:
      return ''
  }
}

function callLines(out: Output, calls: ReturnType<typeof createCalls>, event: SkeinEvent): readonly string[] {
  return calls.take(event).map(({ call, outcome }) => {
    if (!outcome) return `→ ${call.tool} ${out.paint('dim', preview(call.args, 500))}`
    if (outcome.ok) return `${out.paint('green', '✓')} ${call.tool} ${out.paint('dim', preview(outcome.value, 500))}`
    return `${out.paint('red', '✗')} ${call.tool} ${out.paint('red', failureLine(outcome.failure))}`
  })
}
