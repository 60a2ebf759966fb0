/** `skein diff`: what differs between two threads, or two points of one. */
import type { Command } from 'commander'
import type { Message, ThreadDiff } from '../../../index.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { byteCount, counted, oneLine, preview } from '../../format.js'
import type { CliOutput } from '../../output.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { withAnyClient } from '../../store.js'
import type { AnyClient } from '../../store.js'
import { label, visible } from '../../visible.js'
import { withOptionNames } from './option-names.js'
import { placeHelp, placeOf } from './place.js'

interface Options {
  readonly files?: true
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<a>', placeHelp)
    .argument('<b>', 'the same')
    .option('--files', 'only files, with a patch of each text')
    .action((a: string, b: string, options: Options) =>
      runCommand(command, (context) =>
        withOptionNames(
          context,
          withAnyClient(context.store, (client) => diff(context, client, { ...options, a, b })),
        ),
      ),
    )
}

async function diff(
  { out }: CommandContext,
  client: AnyClient,
  { a, b, files = false }: { readonly a: string; readonly b: string; readonly files?: boolean },
): Promise<ExitCode> {
  const options = files ? ({ of: ['files'], patches: true } as const) : {}
  const found = await client.diff(await placeOf(a), await placeOf(b), options)
  if (out.mode === 'json') out.json(found)
  else {
    out.print(`a: ${sideText(found.a)}\nb: ${sideText(found.b)}\n`)
    const text = [messagesText(out, found), filesText(out, found), valuesText(found)].join('')
    out.print(text === '' ? 'nothing differs\n' : text)
  }
  return exitCode.ok
}

function sideText({ thread, seq }: ThreadDiff['a']): string {
  return `${label(thread)}, record ${seq}`
}

function messagesText({ paint }: CliOutput, { messages }: ThreadDiff): string {
  if (!messages || messages.a.length + messages.b.length === 0) return ''
  return [
    `\nmessages: ${messages.common} in common, then ${messages.a.length} in a and ${messages.b.length} in b\n`,
    ...messages.a.map((message) => `${paint('red', `- ${lineOf(message)}`)}\n`),
    ...messages.b.map((message) => `${paint('green', `+ ${lineOf(message)}`)}\n`),
  ].join('')
}

function lineOf({ role, text, calls = [], tool }: Message): string {
  const asked = calls.map((call) => `→ ${label(call.tool)} ${preview(call.args, 100)}`)
  return [`${tool === undefined ? role : label(tool)}:`, oneLine(text, 300), ...asked].filter(Boolean).join(' ')
}

const signs = { added: '+', removed: '-', changed: '~' } as const

function filesText({ paint }: CliOutput, { files = [] }: ThreadDiff): string {
  if (files.length === 0) return ''
  const lines = files.map(({ path, change, sizes, patch }) => {
    const sized = [sizes.a, sizes.b].map((size) => (size === undefined ? '' : byteCount(size))).filter(Boolean)
    const colour = change === 'removed' ? 'red' : 'green'
    return `${paint(colour, `${signs[change]} ${label(path)}`)} ${sized.join(' → ')}\n${patch ? visible(patch) : ''}`
  })
  return `\n${counted(files.length, 'file differs', 'files differ')}\n${lines.join('')}`
}

function valuesText({ values = [] }: ThreadDiff): string {
  const lines = values.map(({ key, a, b }) => `${label(key)}: ${valueText(a)} → ${valueText(b)}\n`)
  return lines.length === 0 ? '' : `\n${counted(lines.length, 'value differs', 'values differ')}\n${lines.join('')}`
}

function valueText(value: unknown): string {
  return value === undefined ? 'none' : preview(value, 200)
}
