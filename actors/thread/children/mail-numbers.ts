/** Numbers of the mail of children: which one was heard last, of a child and of its earlier attempts. */
import type { Child } from '../state.js'

/** The number of the last mail of this attempt; undefined: there was no such attempt. */
export function lastMail({ id, lastMailNumber = 0, earlierMail = {} }: Child, attempt: string): number | undefined {
  if (id === attempt) return lastMailNumber
  return Object.hasOwn(earlierMail, attempt) ? earlierMail[attempt] : undefined
}

export function noteMail(child: Child, attempt: string, number: number | undefined): void {
  if (number === undefined) return
  if (child.id === attempt) child.lastMailNumber = number
  else if (lastMail(child, attempt) !== undefined) child.earlierMail = { ...child.earlierMail, [attempt]: number }
}
