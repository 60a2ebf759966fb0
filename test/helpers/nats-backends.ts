/** The backends that a test opens on a NATS server, with the options that all of them have. */
import { nats } from '../../src/backend/nats/nats.js'
import type { NatsOptions } from '../../src/backend/nats/nats.js'
import type { Backend, StoreRole } from '../../src/backend/port.js'

export interface NatsBackends {
  readonly open: (options?: NatsOptions, role?: StoreRole) => Promise<Backend>
  /** The last one first. */
  readonly closeAll: () => Promise<void>
}

/** One partition, unless the options say otherwise. */
export function natsBackends(common: () => NatsOptions): NatsBackends {
  const opened: Backend[] = []
  return {
    async open(options = {}, role = 'host') {
      const backend = await nats({ partitions: 1, sync: 'relaxed', ...common(), ...options }).open(role)
      opened.push(backend)
      return backend
    },
    async closeAll() {
      for (const backend of opened.splice(0).reverse()) await backend.close()
    },
  }
}
