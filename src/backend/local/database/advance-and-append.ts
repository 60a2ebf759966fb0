/**
 * The commit of a thread that only goes on, as one statement: it advances the thread's row and appends its entry. A
 * statement is a transaction itself, so that BEGIN, COMMIT and a second statement are not prepared and run for it: 7 of
 * 64 µs in a process that does other things in between. Owns a view and its trigger, which are those of one connection
 * (TEMP): nothing of them is in the file.
 *
 * - J2: a row that is not as expected refuses the whole statement.
 */
import type { Database, Value } from './driver.js'

/** False when it was refused, and nothing was written. Values in the order of `columns`. */
export type AdvanceAndAppend = (values: readonly Value[]) => boolean

const columns = 'seq, epoch, status, updated, more, tid, expected, position, first, count, hash, body'
const refused = 'the thread is not at the expected record'

// ABORT takes the whole statement back, and costs nothing where it is the only one of its transaction.
const views = `
  CREATE TEMP VIEW ongoing (${columns}) AS SELECT ${columns.replaceAll(/\w+/g, 'NULL')};
  CREATE TEMP TRIGGER advance_and_append INSTEAD OF INSERT ON ongoing BEGIN
    UPDATE threads SET seq = NEW.seq, epoch = NEW.epoch, status = NEW.status, updated = NEW.updated, more = NEW.more
      WHERE tid = NEW.tid AND seq = NEW.expected AND epoch <= NEW.epoch;
    SELECT RAISE(ABORT, '${refused}') WHERE changes() = 0;
    INSERT INTO journal (position, tid, first, count, hash, body)
      VALUES (NEW.position, NEW.tid, NEW.first, NEW.count, NEW.hash, NEW.body);
  END;
`

export function createAdvanceAndAppend(database: Database): AdvanceAndAppend {
  database.exec(views)
  const insert = database.write(`INSERT INTO ongoing VALUES (${columns.replaceAll(/\w+/g, '?')})`)
  return (values) => {
    try {
      insert.run(...values)
      return true
    } catch (thrown) {
      if (thrown instanceof Error && thrown.message.includes(refused)) return false
      throw thrown
    }
  }
}
