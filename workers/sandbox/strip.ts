/**
 * TypeScript to JavaScript: types are removed, not checked. Owns the mapping of positions back to the source.
 *
 * - No source can end this process. The stripper recurses natively, and a deeply nested source overflows its stack; so
 *   a source with enough tokens for that is stripped in a process of its own. A level of nesting takes at least one
 *   token, and `tokens` never counts fewer than the stripper sees.
 */
import { execFile } from 'node:child_process'
import { SourceMap, createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { TransformResult } from 'oxc-transform'

type Transformed = Pick<TransformResult, 'code' | 'map' | 'errors'>

export interface Stripped {
  readonly code: string
  /** The position in the source of a line and column of `code`, all counted from 1. */
  readonly sourcePosition: (line: number, column: number) => readonly [line: number, column: number]
}

/** Four times as many tokens of any kind do not overflow the 4 MB stack of a thread. */
const mostTokensHere = 2_000
const tokens = /[\w$]+|[^\s\w$]/g

/** Throws a SyntaxError with the position. */
export async function strip(name: string, source: string, signal: AbortSignal): Promise<Stripped> {
  const { code, map, errors } =
    (source.match(tokens)?.length ?? 0) > mostTokensHere ? await stripApart(source, signal) : await stripHere(source)
  const error = errors.find(({ severity }) => severity === 'Error')
  if (error) throw new SyntaxError(`${error.message} (${name}:${positionOf(source, error.labels[0]?.start ?? 0)})`)
  let sourceMap: SourceMap | undefined
  return {
    code,
    sourcePosition(line, column) {
      if (!map) return [line, column]
      sourceMap ??= new SourceMap({ ...map, file: map.file ?? name, sourceRoot: '', sourcesContent: [] })
      const entry = sourceMap.findEntry(line - 1, column - 1)
      return 'originalLine' in entry ? [entry.originalLine + 1, entry.originalColumn + 1] : [line, column]
    },
  }
}

function positionOf(source: string, offset: number): string {
  const before = source.slice(0, offset).split('\n')
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`
}

async function stripHere(source: string): Promise<Transformed> {
  const { transformSync } = await import('oxc-transform')
  return transformSync('code.ts', source, { lang: 'ts', sourcemap: true })
}

const program = `
import { text } from 'node:stream/consumers'
const { transformSync } = await import(process.argv[1])
const { code, map, errors } = transformSync('code.ts', await text(process.stdin), { lang: 'ts', sourcemap: true })
process.stdout.write(JSON.stringify({ code, map, errors }))`

function stripApart(source: string, signal: AbortSignal): Promise<Transformed> {
  const oxc = pathToFileURL(createRequire(import.meta.url).resolve('oxc-transform')).href
  return new Promise((resolve, reject) => {
    const options = { env: {}, signal, killSignal: 'SIGKILL', maxBuffer: 2 ** 28 } as const
    const child = execFile(
      process.execPath,
      ['--input-type=module', '--eval', program, oxc],
      options,
      (error, output) => {
        // A stack overflow ends it by a signal, or by the exit code that stands for one.
        if (error && !signal.aborted && (error.signal || Number(error.code) > 128))
          reject(new SyntaxError('the source cannot be read: it is nested too deeply'))
        else if (error) reject(error)
        else resolve(JSON.parse(output) as Transformed)
      },
    )
    // Of a child that has died; its exit is handled above.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(source)
  })
}
