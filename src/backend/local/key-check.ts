/**
 * The check of the master key for secrets, in the table of single values. (Its column is INTEGER, but takes text:
 * SQLite converts only text that is a number.)
 */
import { clientMayNot } from '../checks.js'
import type { KeyCheck } from '../port.js'
import type { Database } from './database/driver.js'
import { bytesColumn, text } from './database/rows.js'
import type { Writer } from './database/writer.js'

/** `writer`: only the owner has one. */
export function createLocalKeyCheck(database: Database, assertOpen: () => void, writer?: Writer): KeyCheck {
  const stored = database.query(`SELECT ${bytesColumn('value')} FROM meta WHERE name = 'key check'`)
  const read = (): string | undefined => {
    const row = stored.one()
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
