/**
 * The rules of docs/architecture.md that a machine can check, each a function from sources to findings. Owns no
 * assertion: test/architecture.test.ts runs every rule on the tree, and on samples that must fail.
 *
 * - A rule looks only at the sources it is given, so that it can be shown to fail.
 * - A finding names its place as `file:line` and says what to do.
 */
import { contract, hasContractForm } from '../../scripts/contract.js'
import { countLines, importsOf, lineAt, scan } from '../../scripts/source.js'
import type { Source } from '../../scripts/source.js'

export type Rule = (sources: readonly Source[]) => readonly string[]

type Where = (path: string) => boolean

const within =
  (...folders: readonly string[]): Where =>
  (path) =>
    folders.some((folder) => path.startsWith(`${folder}/`))
export const product = within('src', 'actors', 'workers')
const tests = within('test')
const modules = within('src', 'actors', 'workers', 'scripts', 'test/helpers', 'test/contract')

// ── directions ──

interface Zone {
  /** Zones or single files that it may import, besides itself. */
  readonly ours: readonly string[]
  readonly typesOf?: readonly string[]
  /** Undefined: any package and all of Node. */
  readonly packages?: RegExp
}

const pure = ['src/files', 'src/tools', 'src/agent']
const ports = ['src/backend', 'src/pool', 'src/models', 'src/mcp', 'src/observe']
const doors = ['src/index.ts', 'src/testing.ts']
const withoutNode = /^(?!node:)/
const calculating = /^(?!node:(?!(?:crypto|path|url|util|buffer)$))/

/** docs/architecture.md, "Map and permitted direction". A folder that is not here may not exist. */
const zones: Readonly<Record<string, Zone>> = {
  'src/core': { ours: [], packages: /^(?:zod|node:crypto)$/ },
  actors: { ours: ['src/core'], packages: /^(?:xstate|zod)$/ },
  workers: { ours: ['src/core', ...pure, 'src/pool', 'src/observe'] },
  'src/files': { ours: ['src/core', ...pure], packages: calculating },
  'src/tools': { ours: ['src/core', ...pure], packages: calculating },
  'src/agent': { ours: ['src/core', ...pure], typesOf: ['src/models/port.ts'], packages: calculating },
  ...Object.fromEntries(ports.map((port) => [port, { ours: ['src/core', ...pure] }])),
  'src/runtime': { ours: ['src/core', 'actors', ...pure, ...ports] },
  'src/index.ts': { ours: ['src/core', ...pure, ...ports, 'src/runtime'], packages: withoutNode },
  'src/sim': { ours: ['src/core', 'actors', ...pure, ...ports, 'src/runtime'] },
  'src/replay': { ours: ['src/core', 'actors', ...pure, ...ports, 'src/runtime'] },
  'src/testing.ts': {
    ours: ['src/core', 'actors', ...pure, ...ports, 'src/runtime', 'src/sim', 'src/replay', 'src/index.ts'],
  },
  'src/cli': {
    ours: [
      ...doors,
      'src/server.ts',
      'src/client.ts',
      'src/observe.ts',
      'src/core/defined.ts',
      'src/core/clock.ts',
      'src/core/point.ts',
    ],
  },
  'src/http': { ours: [...doors, 'src/core/defined.ts', 'src/core/clock.ts', 'src/core/point.ts'] },
  'src/server.ts': { ours: ['src/http'] },
  'src/observe.ts': { ours: ['src/observe'] },
  // Runs in browsers: no package, nothing of Node, and of Skein the words alone.
  'src/client': { ours: ['src/core'], typesOf: ['src/index.ts'], packages: /^$/ },
  // Runs in browsers: what is built of it is served by src/http. Of Skein it has the types alone.
  'src/page': {
    ours: [],
    typesOf: [
      'src/index.ts',
      'src/http/view/columns.ts',
      'src/http/view/spans.ts',
      'src/http/view/tree-rows.ts',
      'src/http/view/tree-view.ts',
    ],
    packages: /^(?:preact|preact\/hooks|@preact\/signals|marked|diff)$/,
  },
  'src/client.ts': { ours: ['src/client', 'src/core/failure.ts'], packages: /^$/ },
}

function zoneOf(path: string): string {
  const [top = '', second = ''] = path.split('/')
  return top === 'src' ? `src/${second}` : top
}

export const directions: Rule = (sources) =>
  sources
    .filter(({ path }) => product(path))
    .flatMap((source) => {
      const name = zoneOf(source.path)
      const zone = zones[name]
      if (!zone) return [`${source.path}:1 ${name} is not on the map of docs/architecture.md`]
      return importsOf(source).flatMap((used) => {
        const to = used.target === undefined ? undefined : zoneOf(used.target)
        const allowed =
          used.target === undefined
            ? (zone.packages?.test(used.specifier) ?? true)
            : to === name ||
              zone.ours.includes(to ?? '') ||
              zone.ours.includes(used.target) ||
              (used.typeOnly && zone.typesOf?.includes(used.target) === true)
        return allowed ? [] : [`${source.path}:${used.line} ${name} may not import ${used.target ?? used.specifier}`]
      })
    })

export const cycles: Rule = (sources) => {
  const edges = new Map(
    sources
      .filter(({ path }) => product(path))
      .map((source) => [source.path, importsOf(source).filter((used) => !used.typeOnly)]),
  )
  const found: string[] = []
  const closed = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    for (const used of edges.get(path) ?? []) {
      const target = used.target ?? ''
      const from = trail.indexOf(target)
      if (from !== -1) found.push(`${path}:${used.line} closes a cycle: ${[...trail.slice(from), target].join(' → ')}`)
      else if (!closed.has(target)) visit(target, [...trail, target])
    }
    closed.add(path)
  }
  for (const path of edges.keys()) if (!closed.has(path)) visit(path, [path])
  return found
}

// ── sizes and headers ──

const longest = { module: 400, test: 600, median: 150, header: 14 }

export const sizes: Rule = (sources) =>
  sources.flatMap(({ path, text }) => {
    const lines = countLines(text)
    const limit = tests(path) ? longest.test : longest.module
    return lines > limit ? [`${path}:${limit + 1} the file has ${lines} lines; ${limit} is the limit`] : []
  })

export const median: Rule = (sources) => {
  const lengths = sources.filter(({ path }) => product(path)).map(({ text }) => countLines(text))
  const middle = lengths.sort((a, b) => a - b)[Math.floor(lengths.length / 2)] ?? 0
  return middle > longest.median ? [`the median module has ${middle} lines; ${longest.median} is the limit`] : []
}

/** The comment that opens a module (after a `#!` line), if it has one. */
function headerOf({ text }: Source): { readonly line: number; readonly text: string } | undefined {
  const match = /^(#!.*\n)?(\/\*[\s\S]*?\*\/)/.exec(text)
  return match?.[2] === undefined ? undefined : { line: match[1] ? 2 : 1, text: match[2] }
}

export const headers: Rule = (sources) =>
  sources
    .filter(({ path }) => modules(path))
    .flatMap((source) => {
      const header = headerOf(source)
      if (!header) return [`${source.path}:1 the module does not open with a block comment that says what it is`]
      const lines = countLines(header.text)
      return lines > longest.header
        ? [`${source.path}:${header.line} the header has ${lines} lines; ${longest.header} is the limit`]
        : []
    })

/** `J1  `, `CL1 ` and `LNK1 `: labels stand in a column of four, so that prose which happens to wrap on one is none. */
const labelLine = /^ \* (?:([A-Z]\d) {2}|([A-Z]\d\d|[A-Z]{2}\d{1,2}|[A-Z]{3}\d) )\S/

/** The labelled invariants in the header of a module. */
export function invariantsOf(source: Source): readonly { readonly label: string; readonly line: number }[] {
  const header = headerOf(source)
  return (header?.text.split('\n') ?? []).flatMap((text, index) => {
    const match = labelLine.exec(text)
    const label = match?.[1] ?? match?.[2]
    return label === undefined ? [] : [{ label, line: (header?.line ?? 1) + index }]
  })
}

export const labels: Rule = (sources) => {
  const owners = new Map<string, string>()
  return sources
    .filter(({ path }) => modules(path) || tests(path))
    .flatMap((source) =>
      invariantsOf(source).flatMap(({ label, line }) => {
        const place = `${source.path}:${line}`
        if (label in contract) return [`${place} ${label} is an item of the contract; use another prefix`]
        if (hasContractForm(label)) return [`${place} ${label} has a letter of the contract; use another prefix`]
        const owner = owners.get(label)
        if (owner !== undefined) return [`${place} ${label} is already an invariant of ${owner}; use another prefix`]
        owners.set(label, place)
        return []
      }),
    )
}

// ── words and habits ──

interface Ban {
  readonly says: string
  readonly pattern: RegExp
  readonly where: Where
  readonly look: 'code' | 'comments' | 'text'
}

function ban({ says, pattern, where, look }: Ban): Rule {
  const every = new RegExp(pattern.source, `${pattern.flags.replace('g', '')}g`)
  return (sources) =>
    sources
      .filter(({ path }) => where(path))
      .flatMap((source) =>
        spansOf(source, look).flatMap(({ start, text }) =>
          [...text.matchAll(every)].map((match) => {
            const offset = start + match.index + match[0].length - match[0].trimStart().length
            return (
              `${source.path}:${lineAt(source.text, offset)} ${says} (found: ` +
              `${match[0].trim().replace(/\s+/g, ' ')})`
            )
          }),
        ),
      )
}

function spansOf(source: Source, look: Ban['look']): readonly { readonly start: number; readonly text: string }[] {
  if (look === 'comments') return scan(source).comments
  return [{ start: 0, text: look === 'code' ? scan(source).code : source.text }]
}

const inCode = (says: string, pattern: RegExp, where: Where = product): Rule =>
  ban({ says, pattern, where, look: 'code' })

const inComments = (says: string, pattern: RegExp): Rule => ban({ says, pattern, where: product, look: 'comments' })

export const fileNames: Rule = (sources) =>
  sources
    .filter(({ path }) => product(path))
    .flatMap(({ path }) => {
      if (/\/(?:utils?|types?|helpers?|common|misc)\.ts$/.test(path))
        return [`${path}:1 name the file after the one thing it holds`]
      return /\/[a-z0-9]+(?:-[a-z0-9]+)*\.ts$/.test(path) ? [] : [`${path}:1 files are kebab-case`]
    })

const anything: Where = (path) => modules(path) || tests(path)
const outside =
  (exempt: RegExp): Where =>
  (path) =>
    product(path) && !exempt.test(path)
const clockOnly = outside(/^src\/(?:core|page\/kit)\/clock\.ts$/)

/** A thread has a todo list, so that word alone says nothing. */
const unfinished = /\b(?:TODO|[Tt]odo(?=:)|FIXME|[Ff]ixme|HACK|[Hh]ack|[Ss]tub|[Pp]laceholder|[Ff]or now)\b/

export const habits: Readonly<Record<string, Rule>> = {
  'actors/ is synchronous': inCode('actors/ decides and does not wait', /\b(?:async|await)\b/, within('actors')),
  'actors/ is silent': inCode('actors/ has no console', /\bconsole\b/, within('actors')),
  'no legacy': ban({ says: 'say which version is meant', pattern: /legacy/i, where: product, look: 'text' }),
  'no export *': inCode('export names one by one', /\bexport\s*\*/),
  'no any': inCode(
    'use unknown and narrow it',
    /(?::|<|\bas\s)\s*any\b(?!\s*[:(?.])|(?:[|&,=(]|=>)\s*any\b(?!\s*[:(?.=,])/,
    anything,
  ),
  'no silenced compiler': ban({
    says: 'fix the type instead of silencing the compiler',
    pattern: /@ts-(?:ignore|nocheck|expect-error)/,
    where: product,
    look: 'comments',
  }),
  'no enum': inCode(
    'use a union of literals',
    /^\s*(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s+[\w$]+/m,
    anything,
  ),
  'no namespace': inCode('use a module', /^\s*(?:export\s+)?(?:declare\s+)?namespace\s+[\w$.]+\s*\{/m, anything),
  'no default export': inCode('export by name', /\bexport\s+default\b|\bas\s+default\b/),
  'no empty catch': inCode(
    'handle the error, or say in code why not',
    /\bcatch\s*(?:\([^)]*\)\s*)?\{\s*\}|\.catch\(\s*(?:\(\w*\)|\w+)\s*=>\s*\{\s*\}\s*\)/,
    anything,
  ),
  'nothing unfinished': inComments('finish it, or write an issue', unfinished),
  'time and chance through ports': inCode(
    'only src/core/clock.ts reads the clock, sets timers or draws numbers',
    /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.now\b|\bMath\.random\b|(?<!\btypeof\s+)\bset(?:Timeout|Interval)\b/,
    clockOnly,
  ),
  'process.exit belongs to the command line': inCode(
    'throw, and let src/cli decide',
    /\bprocess\.exit\b/,
    outside(/^src\/cli\//),
  ),
  'tests do not sleep': inCode(
    'wait for what happens, with a deferred, an event or the manual clock',
    /\bsetTimeout\(\s*(?:r|res|resolve|done|next|ok)\b|\bsetTimeout\(\s*\(\s*\)\s*=>\s*(?:r|res|resolve|done)\b|(?<!\bworld\.)\bsleep\(|\bdelay\(\s*\d/,
    tests,
  ),
  'tests do not mock': inCode(
    'use the memory adapter or another real one',
    /\bvi\.(?:mock|doMock|useFakeTimers)\b/,
    tests,
  ),
  'no focused test': inCode('run all tests', /\b(?:it|test|describe|suite)(?:\.\w+)*\.only\b/, tests),
}

/** `timers/promises` is a sleep by another name; its import is a literal, which `code` does not show. */
export const timerImports: Rule = (sources) =>
  sources
    .filter(({ path }) => product(path) || tests(path))
    .flatMap((source) =>
      importsOf(source)
        .filter(({ specifier }) => /^(?:node:)?timers(?:\/promises)?$/.test(specifier))
        .map(({ line, specifier }) => `${source.path}:${line} use the clock port instead of ${specifier}`),
    )

const skipped = /\b(?:it|test|describe|suite)(?:\.\w+)*\.(?:skip|todo|skipIf|runIf)\b/g

export const reasonedSkips: Rule = (sources) =>
  sources
    .filter(({ path }) => tests(path))
    .flatMap((source) => {
      const lines = source.text.split('\n')
      return [...scan(source).code.matchAll(skipped)].flatMap((match) => {
        const line = lineAt(source.text, match.index)
        const above = lines[line - 2]?.trim() ?? ''
        return /^\/\/.|\*\/$/.test(above) ? [] : [`${source.path}:${line} say on the line above why ${match[0]}`]
      })
    })
