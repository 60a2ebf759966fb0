/**
 * A text file that begins with front matter: YAML between two lines `---`, then the body. Every mistake has its line.
 *
 * - A value on the line of its key may contain `: ` without quotes: strict YAML refuses that, and the files of coding
 *   agents are full of it.
 * - Line ends are `\n` in what is returned, so that a checkout on another system gives the same bytes.
 */
import type { Document, LineCounter } from 'yaml'
import { isObject } from '../../core/json.js'

export interface FrontMatter {
  readonly fields: Readonly<Record<string, unknown>>
  /** Without blank lines around it. */
  readonly body: string
  /** The line of its first character. */
  readonly bodyLine: number
  /** The line of a field, or of an item of one: by index or, in a list, by its value or `name`. */
  lineOf(path: readonly PropertyKey[]): number
}

export interface LineMistake {
  readonly line: number
  readonly text: string
}

export type ParsedFrontMatter = FrontMatter | { readonly mistakes: readonly LineMistake[] }

const longest = 65_536

const example = 'write --- on the first line, fields such as `description: …`, and --- on a line below them'

/** `scalars: 'text'`: `1.0` and `yes` are texts, as their author wrote them. */
export async function parseFrontMatter(
  bytes: Uint8Array,
  { scalars = 'typed' }: { readonly scalars?: 'typed' | 'text' } = {},
): Promise<ParsedFrontMatter> {
  const decoded = decode(bytes)
  if (decoded === undefined) return mistake(1, 'it is not text in UTF-8')
  const text = decoded.replace(/\r\n?/g, '\n')
  if (text.trim() === '') return mistake(1, `it is empty; ${example}`)
  const found = /^---[ \t]*\n([\s\S]*?)(?<=\n)---[ \t]*(?:\n|$)/.exec(text)
  if (!found) {
    const begun = /^---[ \t]*\n/.test(text)
    return mistake(
      1,
      begun ? 'its front matter has no end: write --- on a line below it' : `no front matter: ${example}`,
    )
  }
  const [whole, source = ''] = found
  if (source.length > longest) return mistake(1, `its front matter has more than ${longest} characters`)
  const { parseDocument, LineCounter: Counter } = await import('yaml')
  const counter = new Counter()
  const document = parseDocument(source.split('\n').map(quoted).join('\n'), {
    lineCounter: counter,
    prettyErrors: false,
    schema: scalars === 'text' ? 'failsafe' : 'core',
  })
  // What comes after the first mistake mostly follows from it.
  const [wrong] = document.errors
  if (wrong) return mistake(lineAt(counter, wrong.pos[0]), `its front matter is not YAML: ${wrong.message}`)
  const fields = valueOf(document)
  if (fields === undefined) return mistake(2, 'its front matter repeats parts of itself (*name) too often')
  if (!isObject(fields) || Array.isArray(fields)) return mistake(2, `its front matter has no fields; ${example}`)
  const after = text.slice(whole.length)
  const blank = after.length - after.trimStart().length
  return {
    fields,
    body: after.trim(),
    bodyLine: text.slice(0, whole.length + blank).split('\n').length,
    lineOf: (path) => lineIn(document, counter, path),
  }
}

function mistake(line: number, text: string): ParsedFrontMatter {
  return { mistakes: [{ line, text }] }
}

/** Without a byte order mark. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (thrown) {
    if (thrown instanceof TypeError) return undefined
    throw thrown
  }
}

/** Undefined where aliases in it multiply beyond reason. */
function valueOf(document: Document): unknown {
  try {
    return document.toJS()
  } catch (thrown) {
    if (thrown instanceof ReferenceError) return undefined
    throw thrown
  }
}

/** `description: Use this when: …` at the left margin, with nothing that YAML gives another meaning. */
function quoted(line: string): string {
  const [, key = '', value = ''] = /^([A-Za-z][\w-]*):[ \t]+([^\s"'[{|>&*!%@`#?-].*)$/.exec(line) ?? []
  return value.includes(' #') || !/:(?: |$)/.test(value) ? line : `${key}: ${JSON.stringify(value.trimEnd())}`
}

/** In the file: its first line is the opening `---`. */
function lineAt(counter: LineCounter, offset: number): number {
  return counter.linePos(offset).line + 1
}

interface YamlNode {
  readonly range?: readonly number[] | null
  readonly value?: unknown
  readonly items?: readonly unknown[]
}

/** The line of the deepest part of the path that is there. */
function lineIn(document: Document, counter: LineCounter, path: readonly PropertyKey[]): number {
  let node: YamlNode | undefined = isObject(document.contents) ? document.contents : undefined
  let line = 2
  for (const key of path) {
    const next = childOf(node, key)
    if (!next) break
    const [offset] = next.at.range ?? []
    if (offset !== undefined) line = lineAt(counter, offset)
    node = next.node
  }
  return line
}

interface Child {
  /** What stands where it begins: its key, where it has one. */
  readonly at: YamlNode
  readonly node: YamlNode
}

function childOf(node: YamlNode | undefined, key: PropertyKey): Child | undefined {
  for (const [index, item] of (node?.items ?? []).entries()) {
    if (!isObject(item)) continue
    const { key: ownKey, value } = item
    if (isObject(ownKey)) {
      if (ownKey['value'] === key) return { at: ownKey, node: isObject(value) ? value : {} }
    } else if (key === index || value === key || nameIn(item) === key) return { at: item, node: item }
  }
  return undefined
}

/** Of an item such as `- name: reviewer`. */
function nameIn(item: YamlNode): unknown {
  const value = childOf({ items: item.items ?? [] }, 'name')?.node.value
  return value
}
