/**
 * The line of an app that an error comes from, for whoever loads the app: the host, and the threads of its pool.
 */
import { findSourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

/** Skein's own modules, of the sources or of what was built of them. */
const root = new URL('../../', import.meta.url).pathname
const own = ['src/', 'actors/', 'workers/', 'lib/'].map((folder) => root + folder)
/** The function that loads an app (runtime/app/load.ts); a bundle may have numbered it. */
const loader = /at (?:async )?loadFrom\d* /
const frame = /(?:\(|at (?:async )?)(?:file:\/\/)?(\/[^()]+?)(\?again=\d+)?:(\d+):(\d+)\)?$/

/**
 * Where an error came from while an app was loaded, as `/path/app.ts:12:3`: the first line of its stack that is
 * neither a package's nor Skein's. Undefined where the loader itself threw it. Source maps are on before an app is
 * imported.
 */
export function sourceLineOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || typeof thrown.stack !== 'string') return undefined
  for (const line of thrown.stack.split('\n')) {
    const [, path, query = '', row, column] = frame.exec(line.trimEnd()) ?? []
    if (path === undefined) continue
    const { file, at } = inSource(`${path}${query}`, Number(row), Number(column)) ?? {
      file: path,
      at: `${row}:${column}`,
    }
    if (file.includes('/node_modules/')) continue
    if (!own.some((folder) => file.startsWith(folder))) return `${file}:${at}`
    // What is below the loader is whoever loads the app.
    if (loader.test(line)) return undefined
  }
  return undefined
}

/** Node maps a stack by itself, but not where another writes the stacks, as a test runner does. */
function inSource(module: string, row: number, column: number): { file: string; at: string } | undefined {
  const source = findSourceMap(`file://${module}`)?.findEntry(row - 1, column - 1)
  // Bundlers have schemes of their own.
  if (!source || !('originalSource' in source) || !source.originalSource.startsWith('file:')) return undefined
  const { originalSource, originalLine, originalColumn } = source
  return { file: fileURLToPath(originalSource), at: `${originalLine + 1}:${originalColumn + 1}` }
}

/** What was thrown while an app was loaded, as text after its place: `/app/tools/add.ts:3:9: …`. */
export function whereAndWhy(thrown: unknown): string {
  const why = thrown instanceof Error ? thrown.message : String(thrown)
  const where = sourceLineOf(thrown)
  return where === undefined ? why : `${where}: ${why}`
}
