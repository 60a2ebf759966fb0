/**
 * Our own sources as text, for the checks that read them (architecture, public names, conformance).
 * A small scanner and no parser: TypeScript 7 ships none that is stable, and these checks need only to know
 * what is code, what is a comment and what is a literal.
 *
 * - `code` has the length and the lines of `text`; comments, and the insides of strings, templates and
 *   regular expressions are blank in it. What a template embeds is code.
 * - A literal is found by the offset of its opening quote; its value is what stands between the quotes.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

export interface Source {
  /** From the project's root, with `/`. */
  readonly path: string
  readonly text: string
}

interface Span {
  readonly start: number
  readonly text: string
}

export interface Scan {
  readonly code: string
  readonly comments: readonly Span[]
  readonly literals: ReadonlyMap<number, string>
}

export interface Import {
  readonly line: number
  readonly specifier: string
  /** The path of a file of ours, or undefined for a package. */
  readonly target: string | undefined
  /** Erased by the compiler. */
  readonly typeOnly: boolean
}

export function readSources(root: string, folders: readonly string[]): readonly Source[] {
  const paths = folders.flatMap((folder) => listFiles(root, folder)).filter((path) => path.endsWith('.ts'))
  return paths.sort().map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

function listFiles(root: string, folder: string): string[] {
  let entries
  try {
    entries = readdirSync(join(root, folder), { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  return entries.flatMap((entry) => {
    const path = posix.join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : listFiles(root, path)
    return [path]
  })
}

export function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++
  return line
}

export function countLines(text: string): number {
  return text.replace(/\n$/, '').split('\n').length
}

const scans = new WeakMap<Source, Scan>()

export function scan(source: Source): Scan {
  const known = scans.get(source)
  if (known) return known
  const made = new Scanner(source.text).run()
  scans.set(source, made)
  return made
}

const wordBeforeRegex = /(?:^|[^\w$.])(?:return|typeof|case|in|of|delete|void|throw|new|await|yield|else|do)$/

/** One pass over one text; lives as long as that. */
class Scanner {
  readonly #text: string
  readonly #code: string[]
  readonly #comments: Span[] = []
  readonly #literals = new Map<number, string>()
  /** Open templates: where each began, and how many braces its present `${` has open. */
  readonly #templates: { start: number; braces: number }[] = []
  #at = 0

  constructor(text: string) {
    this.#text = text
    this.#code = text.split('')
  }

  run(): Scan {
    if (this.#text.startsWith('#!')) this.#blank(0, this.#endOfLine())
    while (this.#at < this.#text.length) this.#token()
    return { code: this.#code.join(''), comments: this.#comments, literals: this.#literals }
  }

  #token(): void {
    const char = this.#text[this.#at]
    const pair = this.#text.slice(this.#at, this.#at + 2)
    const template = this.#templates.at(-1)
    if (pair === '//') this.#comment(this.#endOfLine())
    else if (pair === '/*') this.#comment(this.#after('*/', this.#at + 2))
    else if (char === "'" || char === '"') this.#string(char)
    else if (char === '/' && this.#regexMayStart()) this.#regex()
    else if (char === '`') {
      this.#templates.push({ start: this.#at, braces: 0 })
      this.#templateText(this.#at + 1)
    } else if (char === '}' && template?.braces === 0) this.#templateText(this.#at + 1)
    else {
      if (template && char === '{') template.braces++
      if (template && char === '}') template.braces--
      this.#at++
    }
  }

  #comment(end: number): void {
    this.#comments.push({ start: this.#at, text: this.#text.slice(this.#at, end) })
    this.#blank(this.#at, end)
  }

  #string(quote: string): void {
    const end = this.#closing((char) => char === quote || char === '\n', this.#at + 1)
    this.#literals.set(this.#at, this.#text.slice(this.#at + 1, end))
    this.#blank(this.#at + 1, end)
    this.#at = end + 1
  }

  #regex(): void {
    let inClass = false
    const end = this.#closing((char) => {
      if (char === '[') inClass = true
      if (char === ']') inClass = false
      return (char === '/' && !inClass) || char === '\n'
    }, this.#at + 1)
    this.#blank(this.#at + 1, end)
    this.#at = end + 1
  }

  /** From `from`, up to the closing quote or into the next `${`. */
  #templateText(from: number): void {
    const end = this.#closing((char, at) => char === '`' || (char === '$' && this.#text[at + 1] === '{'), from)
    this.#blank(from, end)
    if (this.#text[end] === '$') {
      this.#at = end + 2
      return
    }
    const template = this.#templates.pop()
    if (template) this.#literals.set(template.start, this.#text.slice(template.start + 1, end))
    this.#at = end + 1
  }

  #closing(ends: (char: string, at: number) => boolean, from: number): number {
    for (let at = from; at < this.#text.length; at++) {
      const char = this.#text[at] ?? ''
      if (char === '\\') at++
      else if (ends(char, at)) return at
    }
    return this.#text.length
  }

  #regexMayStart(): boolean {
    const before = this.#code
      .slice(Math.max(0, this.#at - 200), this.#at)
      .join('')
      .trimEnd()
    return before === '' || /[(,=:[!&|?{};+\-*%<>~^]$/.test(before) || wordBeforeRegex.test(before)
  }

  #blank(start: number, end: number): void {
    for (let at = start; at < end; at++) if (this.#code[at] !== '\n') this.#code[at] = ' '
    this.#at = end
  }

  #endOfLine(): number {
    const end = this.#text.indexOf('\n', this.#at)
    return end === -1 ? this.#text.length : end
  }

  #after(mark: string, from: number): number {
    const at = this.#text.indexOf(mark, from)
    return at === -1 ? this.#text.length : at + mark.length
  }
}

const named = String.raw`(?:[\w$]+|\*(?:\s+as\s+[\w$]+)?|\{[^}]*\})`
const fromClause = new RegExp(
  String.raw`\b(?:import|export)\s+(type\s+)?${named}(?:\s*,\s*${named})?\s*from\s*(?=['"])`,
  'g',
)
const bareImport = /\bimport\s*(?=['"])/g
const callImport = /(\btypeof\s+)?\bimport\s*\(\s*(?=['"`])/g

export function importsOf(source: Source): readonly Import[] {
  const { code, literals } = scan(source)
  const found = [fromClause, bareImport, callImport].flatMap((pattern) => [...code.matchAll(pattern)])
  return found
    .map((match) => ({ start: match.index, end: match.index + match[0].length, typeOnly: match[1] !== undefined }))
    .sort((a, b) => a.start - b.start)
    .map(({ start, end, typeOnly }) => {
      const specifier = literals.get(end) ?? ''
      return { line: lineAt(source.text, start), specifier, target: resolve(source.path, specifier), typeOnly }
    })
}

function resolve(from: string, specifier: string): string | undefined {
  if (specifier === 'skein') return 'src/index.ts'
  if (specifier === 'skein/testing') return 'src/testing.ts'
  if (specifier === 'skein/server') return 'src/server.ts'
  if (specifier === 'skein/observe') return 'src/observe.ts'
  if (specifier === 'skein/client') return 'src/client.ts'
  if (!specifier.startsWith('.')) return undefined
  return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts')
}

const declaration =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:const|let|function\*?|class|interface|type)\s+([\w$]+)/gm

export interface DeclaredExport {
  readonly line: number
  readonly name: string
}

/** What a module declares and exports, overloads once; not what it passes on from another module. */
export function declaredExports(source: Source): readonly DeclaredExport[] {
  const found = new Map<string, DeclaredExport>()
  for (const match of scan(source).code.matchAll(declaration)) {
    const name = match[1] ?? ''
    if (!found.has(name)) found.set(name, { line: lineAt(source.text, match.index), name })
  }
  return [...found.values()]
}
