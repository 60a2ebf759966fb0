/**
 * TypeScript to JavaScript: types are removed, not checked. Owns the way back from a place in what runs to a place in
 * what was written.
 *
 * - No source can end this process. The stripper recurses natively, and a source that nests deeply enough overflows
 *   its stack; so one with more tokens than that could take is stripped in a process of its own. A level of nesting
 *   costs at least one token, and `tokens` never counts fewer than the stripper sees.
 */
import { execFile } from 'node:child_process'
import { SourceMap, createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { TransformResult } from 'oxc-transform'

type Transformed = Pick<TransformResult, 'code' | 'map' | 'errors'>

export interface Stripped {
  readonly code: string
  /** The written place of a line and column of `code`, all counted from 1. */
  readonly written: (line: number, column: number) => readonly [line: number, column: number]
}

/** Four times as many do not overflow a worker's 4 MB, whatever they are. */
const mostTokensHere = 2_000
const tokens = /[\w$]+|[^\s\w$]/g

/** Throws a SyntaxError that names the place. */
export async function strip(name: string, source: string, signal: AbortSignal): Promise<Stripped> {
  const { code, map, errors } =
    (source.match(tokens)?.length ?? 0) > mostTokensHere ? await apart(source, signal) : await here(source)
  const error = errors.find(({ severity }) => severity === 'Error')
  if (error) throw new SyntaxError(`${error.message} (${name}:${placeOf(source, error.labels[0]?.start ?? 0)})`)
  let places: SourceMap | undefined
  return {
    code,
    written(line, column) {
      if (!map) return [line, column]
      places ??= new SourceMap({ ...map, file: map.file ?? name, sourceRoot: '', sourcesContent: [] })
      const entry = places.findEntry(line - 1, column - 1)
      return 'originalLine' in entry ? [entry.originalLine + 1, entry.originalColumn + 1] : [line, column]
    },
  }
}

function placeOf(source: string, offset: number): string {
  const before = source.slice(0, offset).split('\n')
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`
}

async function here(source: string): Promise<Transformed> {
  const { transformSync } = await import('oxc-transform')
  return transformSync('code.ts', source, { lang: 'ts', sourcemap: true })
}

const program = `
import { text } from 'node:stream/consumers'
const { transformSync } = await import(process.argv[1])
const { code, map, errors } = transformSync('code.ts', await text(process.stdin), { lang: 'ts', sourcemap: true })
process.stdout.write(JSON.stringify({ code, map, errors }))`

function apart(source: string, signal: AbortSignal): Promise<Transformed> {
  const oxc = pathToFileURL(createRequire(import.meta.url).resolve('oxc-transform')).href
  return new Promise((resolve, reject) => {
    const options = { env: {}, signal, killSignal: 'SIGKILL', maxBuffer: 2 ** 28 } as const
    const child = execFile(
      process.execPath,
      ['--input-type=module', '--eval', program, oxc],
      options,
      (error, output) => {
        // Out of stack it dies by a signal, or by the exit code that stands for one.
        if (error && !signal.aborted && (error.signal || Number(error.code) > 128))
          reject(new SyntaxError('the source cannot be read: it is nested too deeply'))
        else if (error) reject(error)
        else resolve(JSON.parse(output) as Transformed)
      },
    )
    // A child that died has told so by its exit.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(source)
  })
}
