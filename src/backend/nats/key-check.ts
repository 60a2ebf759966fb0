/** The check of the master key for secrets: one entry of the namespace, written once. */
import { clientMayNot } from '../checks.js'
import type { KeyCheck } from '../port.js'
import type { NatsContext } from './context.js'
import { publish } from './connection/publish.js'

export function createNatsKeyCheck({ role, connection, reader, subjects, assertOpen }: NatsContext): KeyCheck {
  const stream = subjects.streams.meta
  const subject = subjects.keyCheck
  const read = async (): Promise<string | undefined> => {
    assertOpen()
    const entry = await reader.last(stream, subject)
    return entry && Buffer.from(entry.data).toString()
  }
  return {
    read,
    async keep(text) {
      assertOpen()
      if (role === 'client') throw clientMayNot('keep a check of the key')
      await publish(connection, reader, { stream, subject, payload: text, expected: 0 })
      return (await read()) ?? text
    },
  }
}
