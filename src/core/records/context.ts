/** The record of a reduction: what of a conversation its model reads no longer as it was said. */
import type { Failure } from '../failure.js'
import type { Usage } from '../usage.js'

/** Messages are numbered from the first of the thread, from 0. */
export interface ContextReduced {
  readonly type: 'context.reduced'
  /** The step before which it was reduced. */
  readonly step: number
  /** The view: its side, and what it leaves out of earlier turns. */
  readonly of: string
  /** Long results in messages before this one are shown as markers. */
  readonly archived?: number
  /** Stands for all messages before `before`. */
  readonly summary?: ContextSummary
  /** Tokens that are left, and the number of tokens at which it is looked at again. */
  readonly size: number
  readonly next: number
  /** Why there is no summary, although one was wanted. */
  readonly failure?: Failure
}

export interface ContextSummary {
  readonly before: number
  readonly text: string
  /** Characters of `text` that repeat what was asked for, word for word. */
  readonly request: number
  readonly model: string
  readonly usage: Usage
}

/** Results of more characters than this are archived. */
export const longestShown = 500

/** Part of the name of a view: what it reads of earlier turns. */
export function viewName(side: string, { chat, tools }: ViewParts): string {
  if (chat && tools) return side
  if (!chat && !tools) return `${side}-turn`
  return `${side}-${chat ? 'chat' : 'tools'}`
}

export interface ViewParts {
  /** Words of earlier turns. */
  readonly chat: boolean
  /** Calls of earlier turns, and their results. */
  readonly tools: boolean
}

export function partsOf(view: string): ViewParts {
  const [, part] = view.split('-')
  return { chat: part === undefined || part === 'chat', tools: part === undefined || part === 'tools' }
}
