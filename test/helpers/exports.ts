/**
 * Reads a module that only lists exports: which names are values, which are types, and what else stands there.
 *
 * - Only `export { … } from` and `export type { … } from` are lists; every other line of code is told.
 */
import { lineAt, scan } from '../../scripts/source.js'
import type { Source } from '../../scripts/source.js'

interface Exports {
  readonly values: readonly string[]
  readonly types: readonly string[]
  /** `file:line code` of what is not a list of exports. */
  readonly other: readonly string[]
}

const list = /\bexport\s+(type\s+)?\{([^}]*)\}\s*from\s*(['"])\s*\3;?/g

export function exportsOf(source: Source): Exports {
  const { code } = scan(source)
  const named = [...code.matchAll(list)].flatMap(([, typeOnly, names = '']) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => ({
        type: typeOnly !== undefined || name.startsWith('type '),
        name: name.replace(/^type\s+/, '').replace(/^.*\sas\s+/, ''),
      })),
  )
  return {
    values: named
      .filter(({ type }) => !type)
      .map(({ name }) => name)
      .sort(),
    types: named
      .filter(({ type }) => type)
      .map(({ name }) => name)
      .sort(),
    other: otherLines(source, code),
  }
}

function otherLines({ path, text }: Source, code: string): readonly string[] {
  const rest = code.replace(list, (match) => match.replace(/[^\n]/g, ' '))
  const lines = text.split('\n')
  return [...rest.matchAll(/^[^\S\n]*\S.*$/gm)].map((match) => {
    const line = lineAt(text, match.index)
    return `${path}:${line} ${lines[line - 1]?.trim() ?? ''}`
  })
}
