/**
 * What a call means for the turn that it is part of, as its agent's definition said when it was asked for; and what
 * is read off it when it has succeeded.
 */
import type { Json } from '../json.js'
import { isObject } from '../json.js'
import { resultText } from './message.js'

/** `pass`: the side has ended its turn. */
export interface SessionRole {
  readonly does: 'fail' | 'stop' | 'pass' | 'status'
  /** The property that holds what is said; of the call's result, or else of its args. */
  readonly message?: string
  /** The property that holds paths of files. */
  readonly attachments?: string
}

/** A call that succeeded. */
interface Done {
  readonly role: SessionRole
  readonly args: Json
  readonly value: Json
}

function property({ args, value }: Done, name: string | undefined): Json | undefined {
  if (name === undefined) return undefined
  for (const from of [value, args]) if (isObject(from) && Object.hasOwn(from, name)) return from[name]
  return undefined
}

/** Undefined: it names no property, or has none of that name. */
export function messageOf(done: Done): string | undefined {
  const said = property(done, done.role.message)
  return said === undefined || said === null ? undefined : resultText(said)
}

export function attachmentsOf(done: Done): readonly string[] {
  const paths = property(done, done.role.attachments)
  const list = Array.isArray(paths) ? paths : [paths]
  return list.filter((path) => typeof path === 'string' && path.startsWith('/'))
}
