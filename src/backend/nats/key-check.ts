/** The check of the key for secrets: one entry of the namespace, written once. */
import { clientMayNot } from '../checks.js'
import type { KeyCheck } from '../port.js'
import type { NatsContext } from './context.js'
import { publish } from './connection/publish.js'

export function createNatsKeyCheck({ role, link, reads, names, live }: NatsContext): KeyCheck {
  const stream = names.streams.meta
  const subject = names.keyCheck
  const read = async (): Promise<string | undefined> => {
    live()
    const entry = await reads.last(stream, subject)
    return entry && Buffer.from(entry.data).toString()
  }
  return {
    read,
    async keep(text) {
      live()
      if (role === 'client') throw clientMayNot('keep a check of the key')
      await publish(link, reads, { stream, subject, payload: text, expected: 0 })
      return (await read()) ?? text
    },
  }
}
