/** The report of what a fork or a rewind crosses, for people. */
import type { Crossing } from '../../../index.js'
import { counted, dateTime, preview, table } from '../../format.js'
import type { CommandContext } from '../../run-command.js'
import { label } from '../../visible.js'

const columns = ['CALL', 'TOOL', 'STATE', 'UNDONE BY', 'BEGAN', 'ARGS'] as const

export function crossingText({ thread, seq, effects, children, schedules, approvals, cut }: Crossing): string {
  const lines = [
    `${label(thread)}, after record ${seq}\n`,
    effects.length === 0
      ? 'it has done nothing to the world since\n'
      : `since then, to the world:\n${table([columns, ...rows(effects)])}`,
    list('children at work', children, ({ reference, agent }) => `${reference} (${agent})`),
    list('calls that wait for a person', approvals, ({ call, tool }) => `${tool} (${call})`),
    list('scheduled calls', schedules, ({ tool }) => tool),
    cut ? `the fork has ${counted(cut.length, 'thread')}\n` : '',
  ]
  return lines.join('')
}

function rows(effects: Crossing['effects']): readonly (readonly string[])[] {
  return effects.map(({ thread, call, tool, state, revert, at, args }) => [
    `${thread}/${call}`,
    tool,
    state,
    revert ? 'its tool' : 'nobody',
    dateTime(at),
    preview(args, 60),
  ])
}

function list<Item>(what: string, items: readonly Item[], text: (item: Item) => string): string {
  return items.length === 0 ? '' : `${what}: ${items.map((item) => label(text(item))).join(', ')}\n`
}

/** What was refused because of effects is told with the whole report; programs have it in the error. */
export async function withReport<Result>({ out }: CommandContext, asked: Promise<Result>): Promise<Result> {
  const { SkeinError } = await import('../../../index.js')
  return asked.catch((thrown: unknown) => {
    const crossing = SkeinError.is(thrown, 'EFFECTS_CROSSED') ? thrown.data?.['crossing'] : undefined
    if (isCrossing(crossing) && out.mode !== 'json') out.note(crossingText(crossing).trimEnd())
    throw thrown
  })
}

/** The data of the error is the report, as it is given by `dry`. */
function isCrossing(value: unknown): value is Crossing {
  return typeof value === 'object' && value !== null && 'effects' in value && Array.isArray(value.effects)
}
