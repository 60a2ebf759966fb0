/** A message of a transcript as lines on the screen. */
import type { Message } from '../../index.js'
import { clockTime, preview } from '../format.js'
import type { CliOutput } from '../output.js'
import { label, visible } from '../visible.js'
import { speakerOf } from './call-line.js'

export function messageText({ paint }: CliOutput, message: Message): string {
  const { role, text, at, calls = [], tool, failed, fromCache } = message
  const who = role === 'tool' ? `${failed ? '✗' : '✓'} ${label(tool ?? 'tool')}` : (speakerOf(message) ?? role)
  const time = `${clockTime(at)}${fromCache ? ' cached' : ''}`
  const head = `${paint(failed ? 'red' : 'bold', who)} ${paint('dim', time)}\n`
  const body = role === 'tool' ? preview(text, 2_000) : visible(text).trimEnd()
  const requested = calls
    .map((call) => `${paint('dim', '→')} ${label(call.tool)} ${paint('dim', preview(call.args, 500))}\n`)
    .join('')
  return `${head}${body === '' ? '' : `${body}\n`}${requested}`
}
