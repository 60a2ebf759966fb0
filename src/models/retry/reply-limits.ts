/**
 * The largest reply of a model. A provider that never stops streaming would otherwise fill the memory of the host.
 *
 * - A larger reply fails its step (`MODEL_REPLY_TOO_LARGE`) while it is still streaming; its deltas are void.
 */
import { SkeinError } from '../../core/failure.js'
import type { ModelReply } from '../port.js'

/** Far more than any model produces in one reply. */
export const replyLimits = {
  /** Of the text, and of the reasoning. */
  textChars: 4_000_000,
  /** Of the args of all calls. */
  argsChars: 8_000_000,
  calls: 10_000,
} as const

export type ReplyPart = 'text' | 'reasoning' | 'call'

/** Counts the characters of one attempt. */
export class ReplyMeter {
  readonly #chars = { text: 0, reasoning: 0, call: 0 }

  add(part: ReplyPart, chars: number): void {
    this.#chars[part] += chars
    const most = part === 'call' ? replyLimits.argsChars : replyLimits.textChars
    if (this.#chars[part] > most) throw tooLarge(`${part === 'call' ? 'args' : part} of more than ${most} characters`)
  }
}

export function checkCalls(count: number): void {
  if (count > replyLimits.calls) throw tooLarge(`more than ${replyLimits.calls} calls`)
}

/** Checks a reply that did not stream. */
export function checkReplySize({ text, reasoning = '', calls }: ModelReply): void {
  const meter = new ReplyMeter()
  meter.add('text', text.length)
  meter.add('reasoning', reasoning.length)
  checkCalls(calls.length)
  for (const { tool, args } of calls) meter.add('call', tool.length + (typeof args === 'string' ? args.length : 0))
}

function tooLarge(what: string): SkeinError {
  return new SkeinError(
    'MODEL_REPLY_TOO_LARGE',
    `the model's reply has ${what}, which no step may have; it was given up. Ask for less at once, or set the ` +
      `model's own limit of output.`,
  )
}
