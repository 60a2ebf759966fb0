/**
 * The only module that knows which SQLite is used: `node:sqlite` where Node has it, else `libsql`. Owns the smallest
 * synchronous interface that the store needs; knows no table.
 *
 * - `one` and `all` leave no statement open: an open one would hold a snapshot and stop checkpoints.
 * - Integers are numbers; those of the store are below 2 ** 53.
 * DR3 A query never gives text, only bytes and numbers (rows.ts): `libsql` ends the process on text that is not
 *     UTF-8, and a flipped bit on the disk is enough to make one.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type Libsql from 'libsql'
import { defined } from '../../../core/defined.js'
import { broken } from '../../../core/failure.js'
import { isObject } from '../../../core/json.js'

export type Value = null | number | string | Uint8Array
export type Row = readonly unknown[]

export interface Write {
  run(...values: Value[]): { readonly changes: number; readonly rowid: number }
}

export interface Query {
  one(...values: Value[]): Row | undefined
  all(...values: Value[]): readonly Row[]
}

export interface Database {
  exec(sql: string): void
  write(sql: string): Write
  query(sql: string): Query
  /** A PRAGMA that answers with a row. The answer may be text, and is not read (DR3). */
  pragma(words: string): void
  close(): void
}

interface BuiltInStatement {
  run(...values: Value[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  get(...values: Value[]): unknown
  all(...values: Value[]): unknown[]
}

interface BuiltInDatabase {
  exec(sql: string): void
  prepare(sql: string): BuiltInStatement
  close(): void
}

interface BuiltInModule {
  readonly DatabaseSync: new (path: string) => BuiltInDatabase
}

function isBuiltIn(module: unknown): module is BuiltInModule {
  return isObject(module) && typeof module['DatabaseSync'] === 'function'
}

let libsql: typeof Libsql | undefined

function loadLibsql(): typeof Libsql {
  const load = createRequire(import.meta.url)
  try {
    chooseBinary(createRequire(load.resolve('libsql')))
    const loaded: typeof Libsql = load('libsql')
    return loaded
  } catch (cause) {
    // Its binary is an optional dependency, which an install may leave out.
    throw new Error(
      `there is no SQLite: libsql has no binary for ${process.platform}-${process.arch} here. Install with optional ` +
        `dependencies, or use Node 22.13 or newer, which has its own`,
      { cause },
    )
  }
}

/**
 * To find out which C library there is, libsql asks for a report of the process, a third of what it takes to load, and
 * then reads this file, which has the last word where it is that of glibc. So it is read first.
 */
const lddPath = '/usr/bin/ldd'

function chooseBinary(near: NodeJS.Require): void {
  if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch) || !isOfGlibc(lddPath)) return
  const loader: { currentTarget: () => string } = near('@neon-rs/load')
  loader.currentTarget = () => `linux-${process.arch}-gnu`
}

function isOfGlibc(path: string): boolean {
  try {
    const text = readFileSync(path, 'utf8')
    return text.includes('GLIBC') && !text.includes('musl')
  } catch {
    return false
  }
}

/** Without the warning of Node 22 that it is experimental: nobody chose it, so nobody can do anything about it. */
function loadBuiltIn(): unknown {
  const warn = process.emitWarning
  process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
    if (!/SQLite/.test(String(warning))) Reflect.apply(warn, process, [warning, ...rest])
  }
  try {
    return process.getBuiltinModule('node:sqlite')
  } finally {
    process.emitWarning = warn
  }
}

/** Creates the file when it is missing. */
export async function openDatabase(path: string): Promise<Database> {
  const builtIn = loadBuiltIn()
  if (isBuiltIn(builtIn)) return overBuiltIn(new builtIn.DatabaseSync(path))
  // Not by import(): walking its CommonJS modules for named exports takes another 5 ms.
  libsql ??= loadLibsql()
  return overLibsql(new libsql(path))
}

/**
 * Starts a thread whose source has `Database`, the class of this driver, and `path`. From source: there may be no
 * compiled module.
 */
export function startBeside(source: string, data: { readonly path: string; readonly to?: string }): Worker {
  const libsqlPath = isBuiltIn(loadBuiltIn()) ? undefined : createRequire(import.meta.url).resolve('libsql')
  const given = `
    const { path, to, libsql } = require('node:worker_threads').workerData
    const Database = libsql ? require(libsql) : process.getBuiltinModule('node:sqlite').DatabaseSync
  `
  return new Worker(given + source, {
    eval: true,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    workerData: { ...data, ...defined({ libsql: libsqlPath }) },
  })
}

const copier = `
  const database = new Database(path)
  database.exec('PRAGMA busy_timeout = 5000')
  database.prepare('VACUUM INTO ?').run(to)
  database.close()
`

/** Copies one instant of a database to a new file, without blocking this thread or its writers. */
export async function copyDatabase(from: string, to: string): Promise<void> {
  await new Promise<void>((done, failed) => {
    const worker = startBeside(copier, { path: from, to })
    worker.once('error', failed)
    worker.once('exit', (code) =>
      code === 0 ? done() : failed(new Error(`the thread that copies ended with ${code}`)),
    )
  })
}

function overLibsql(database: Libsql.Database): Database {
  return {
    exec: (sql) => void database.exec(sql),
    write(sql) {
      const statement = database.prepare(sql)
      // An array as the only argument goes through as it is; spread ones are copied twice.
      return {
        run(...values) {
          const { changes, lastInsertRowid } = statement.run(values)
          return { changes, rowid: Number(lastInsertRowid) }
        },
      }
    },
    query(sql) {
      const statement = database.prepare(sql).raw()
      return {
        one: (...values) => asRow(statement.get(values)),
        all: (...values) => statement.all(values).map((row) => asRow(row) ?? []),
      }
    },
    pragma: (words) => void database.prepare(`PRAGMA ${words}`).raw().all([]),
    close: () => void database.close(),
  }
}

function overBuiltIn(database: BuiltInDatabase): Database {
  return {
    exec: (sql) => database.exec(sql),
    write(sql) {
      const statement = database.prepare(sql)
      return {
        run(...values) {
          const { changes, lastInsertRowid } = statement.run(...values)
          return { changes: Number(changes), rowid: Number(lastInsertRowid) }
        },
      }
    },
    query(sql) {
      const statement = database.prepare(sql)
      return {
        one: (...values) => asRow(statement.get(...values)),
        all: (...values) => statement.all(...values).map((row) => asRow(row) ?? []),
      }
    },
    pragma: (words) => void database.prepare(`PRAGMA ${words}`).all(),
    close: () => database.close(),
  }
}

/** The built-in gives objects whose fields are in the order of the columns (all of ours have different names). */
function valuesOf(row: unknown): Row | undefined {
  if (Array.isArray(row)) return row
  return isObject(row) ? Object.values(row) : undefined
}

function asRow(row: unknown): Row | undefined {
  const values = valuesOf(row)
  if (values?.some((value) => typeof value === 'string'))
    throw broken('DR3', 'a query asked for text; ask for its bytes')
  return values
}
