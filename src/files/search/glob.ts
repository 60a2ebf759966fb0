/**
 * Globs: `**`, `*`, `?`, `[…]`, `{a,b}`, and `\` as the escape. Everything else is literal.
 *
 * - Matching takes time linear in the name and the glob, whoever wrote it.
 */
import { fileError } from '../error.js'
import { compile } from './pattern.js'

/** A matcher for relative paths: names joined by `/`, without one at the front. */
export async function globOf(glob: string): Promise<(name: string) => boolean> {
  if (glob === '') throw fileError('EINVAL', { syscall: 'glob', path: glob }, 'a glob is not empty')
  const { test } = await compile(`^(?:${translate([...glob])})$`, { syscall: 'glob', mostSteps: 4000 })
  return test
}

/** A part of a glob, and where it ends. */
interface Part {
  readonly pattern: string
  readonly end: number
}

function translate(glob: readonly string[]): string {
  const choices = choicesIn(glob)
  const partAt = (at: number): Part => {
    const character = glob[at] ?? ''
    const choice = choices.get(at)
    if (choice !== undefined) return { pattern: choice, end: at }
    switch (character) {
      case '*':
        return starsAt(glob, at)
      case '?':
        return { pattern: '[^/]', end: at }
      case '[':
        return setAt(glob, at) ?? { pattern: literal(character), end: at }
      case '\\':
        return { pattern: literal(glob[at + 1] ?? character), end: at + 1 }
      default:
        return { pattern: literal(character), end: at }
    }
  }
  let all = ''
  for (let at = 0; at < glob.length; at++) {
    const { pattern, end } = partAt(at)
    all += pattern
    at = end
  }
  return all
}

function literal(character: string): string {
  return /[\\^$.*+?()[\]{}|-]/.test(character) ? `\\${character}` : character
}

/** What braces and commas stand for, by index. A brace that is not closed, or has no comma, is literal. */
function choicesIn(glob: readonly string[]): ReadonlyMap<number, string> {
  const found = new Map<number, string>()
  const open: { readonly at: number; readonly commas: number[] }[] = []
  for (let at = 0; at < glob.length; at++) {
    const character = glob[at]
    if (character === '\\') at++
    else if (character === '[') at = setAt(glob, at)?.end ?? at
    else if (character === '{') open.push({ at, commas: [] })
    else if (character === ',') open.at(-1)?.commas.push(at)
    else if (character === '}') {
      const brace = open.pop()
      if (!brace || brace.commas.length === 0) continue
      found.set(brace.at, '(?:').set(at, ')')
      for (const comma of brace.commas) found.set(comma, '|')
    }
  }
  return found
}

/** `**` as a whole name stands for any number of names; within a name it is a `*`. */
function starsAt(glob: readonly string[], at: number): Part {
  let end = at
  while (glob[end + 1] === '*') end++
  const begins = at === 0 || '/{,'.includes(glob[at - 1] ?? '')
  if (end - at !== 1 || !begins) return { pattern: '[^/]*', end }
  if (glob[end + 1] === '/') return { pattern: '(?:[^/]+/)*', end: end + 1 }
  const ends = end + 1 === glob.length || '},'.includes(glob[end + 1] ?? '')
  return { pattern: ends ? '(?s:.+)' : '[^/]*', end }
}

/** Undefined if the set is not closed: then `[` is literal. */
function setAt(glob: readonly string[], at: number): Part | undefined {
  const negated = glob[at + 1] === '!' || glob[at + 1] === '^'
  const first = at + (negated ? 2 : 1)
  let inside = ''
  for (let index = first; index < glob.length; index++) {
    const character = glob[index] ?? ''
    const named = /^\[:[a-z]+:\]/.exec(glob.slice(index, index + 12).join(''))?.[0]
    if (character === ']' && index > first) return { pattern: negated ? `[^/${inside}]` : `[${inside}]`, end: index }
    if (character === '/') return undefined
    if (named) {
      inside += named
      index += named.length - 1
    } else if (character === '\\' && index + 1 < glob.length) inside += literal(glob[++index] ?? '')
    else inside += character === '-' ? '-' : literal(character)
  }
  return undefined
}
