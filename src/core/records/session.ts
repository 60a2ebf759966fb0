/**
 * The role of a call in a session, as the definition of its agent gave it when the call was recorded; and the message
 * and attachments of a call with such a role, once it has succeeded.
 */
import type { Json } from '../json.js'
import { isObject } from '../json.js'
import { resultText } from './message.js'

/** `pass`: the side has ended its turn. */
export interface SessionRole {
  readonly does: 'fail' | 'stop' | 'pass' | 'status'
  /** The property that holds the message; looked up in the result of the call, then in its args. */
  readonly message?: string
  /** The property that holds paths of files. */
  readonly attachments?: string
}

/** A call that succeeded. */
interface SucceededCall {
  readonly role: SessionRole
  readonly args: Json
  readonly value: Json
}

function property({ args, value }: SucceededCall, name: string | undefined): Json | undefined {
  if (name === undefined) return undefined
  for (const from of [value, args]) if (isObject(from) && Object.hasOwn(from, name)) return from[name]
  return undefined
}

/** Undefined if the role names no property, or the call has none of that name. */
export function messageOf(call: SucceededCall): string | undefined {
  const message = property(call, call.role.message)
  return message === undefined || message === null ? undefined : resultText(message)
}

export function attachmentsOf(call: SucceededCall): readonly string[] {
  const paths = property(call, call.role.attachments)
  const list = Array.isArray(paths) ? paths : [paths]
  return list.filter((path) => typeof path === 'string' && path.startsWith('/'))
}
