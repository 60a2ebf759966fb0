/**
 * Errors of time travel as they are told on the command line: the library and the server speak of options of the API,
 * and whoever types a command needs those of the command.
 */
import { defined } from '../../../core/defined.js'
import type { CommandContext } from '../../run-command.js'
import { commandLine } from '../../store.js'

const names: readonly (readonly [ofApi: string, here: string])[] = [
  ['effects: "ask", "refuse" or "run"', '--effects ask, refuse or run'],
  ['force: true', '--force'],
  ['revert: true', '--revert'],
  ['{ dry: true }', '--dry'],
  ['`revert`', '--revert'],
  ['`force`', '--force'],
]

export async function withOptionNames<Result>({ store }: CommandContext, asked: Promise<Result>): Promise<Result> {
  const { SkeinError } = await import('../../../index.js')
  return asked.catch((thrown: unknown) => {
    if (!SkeinError.is(thrown, 'BAD_OPTION') && !SkeinError.is(thrown, 'EFFECTS_CROSSED')) throw thrown
    const { code, message, retry, data } = thrown
    const thread = typeof data?.['thread'] === 'string' ? data['thread'] : '<thread>'
    const timeline = ['thread.timeline()', commandLine(store, 'skein', 'timeline', thread)] as const
    const told = [...names, timeline].reduce((text, [ofApi, here]) => text.replaceAll(ofApi, () => here), message)
    throw new SkeinError(code, told, { retry, cause: thrown, ...defined({ data }) })
  })
}
