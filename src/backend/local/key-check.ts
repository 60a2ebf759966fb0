/**
 * The check of the key for secrets, beside the other single values of the store. (Its column takes a text, too:
 * SQLite turns into a number only what is one.)
 */
import { clientMayNot } from '../checks.js'
import type { KeyCheck } from '../port.js'
import type { Database } from './database/driver.js'
import { raw, text } from './database/rows.js'
import type { Writer } from './database/writer.js'

/** `writer`: the owner's. */
export function createLocalKeyCheck(database: Database, assertOpen: () => void, writer?: Writer): KeyCheck {
  const found = database.query(`SELECT ${raw('value')} FROM meta WHERE name = 'key check'`)
  const read = (): string | undefined => {
    const row = found.one()
    return row && text(row[0])
  }
  return {
    async read() {
      assertOpen()
      return read()
    },
    async keep(check) {
      assertOpen()
      if (!writer) throw clientMayNot('keep a check of the key')
      await writer.add(() => database.write("INSERT OR IGNORE INTO meta VALUES ('key check', ?)").run(check))
      return read() ?? check
    },
  }
}
