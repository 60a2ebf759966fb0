/**
 * Writes of the page, each seen on its way: sending, accepted, recorded, or refused with its code. Nothing is shown as
 * done before the server has said so.
 */
import { signal } from '@preact/signals'
import { sendJson, toPageProblem } from './api.js'
import type { ApiRequest, PageProblem } from './api.js'

export interface Receipt {
  readonly phase: 'sending' | 'accepted' | 'recorded' | 'refused'
  readonly what: string
  readonly problem?: PageProblem
}

/** By what they are about, such as an item of the inbox. */
export const receipts = signal<Readonly<Record<string, Receipt>>>({})

export function setReceipt(about: string, receipt: Receipt | undefined): void {
  const { [about]: _, ...others } = receipts.peek()
  receipts.value = receipt ? { ...others, [about]: receipt } : others
}

export interface PageWrite extends ApiRequest {
  readonly about: string
  /** In the past tense: `approved`. */
  readonly what: string
  readonly path: string
}

/** Gives what the server answered, or undefined where it refused. */
export async function write({
  about,
  what,
  path,
  ...request
}: PageWrite): Promise<{ readonly value: unknown } | undefined> {
  setReceipt(about, { phase: 'sending', what })
  try {
    const { status, value } = await sendJson(path, request)
    setReceipt(about, { phase: status === 202 ? 'accepted' : 'recorded', what })
    return { value }
  } catch (thrown) {
    setReceipt(about, { phase: 'refused', what, problem: toPageProblem(thrown) })
    return undefined
  }
}

export function receiptWords({ phase, what, problem }: Receipt): string {
  if (phase === 'sending') return `Sending: ${what} …`
  if (phase === 'accepted') return `Accepted, not recorded yet: ${what}`
  if (phase === 'recorded') return `Recorded: ${what}`
  return `Refused: ${problem?.code ?? ''} · ${problem?.detail ?? ''}`
}
