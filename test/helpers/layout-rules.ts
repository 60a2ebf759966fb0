/**
 * The rules of the house about layout and names, beside those of architecture.ts: folders a reader can survey, rooms of
 * the runtime in one direction, lines of one width, and exported names that say one thing each.
 *
 * - What is permitted is data; a rule only compares it with the sources.
 */
import { declaredExports, importsOf } from '../../scripts/source.js'
import type { Source } from '../../scripts/source.js'
import { product } from './architecture.js'
import type { Rule } from './architecture.js'

const most = { modules: 20, columns: 120 }

export const folderSizes: Rule = (sources) => {
  const modules = sources.filter(({ path }) => product(path)).map(({ path }) => folderOf(path))
  return [...new Set(modules)].flatMap((folder) => {
    const count = modules.filter((each) => each === folder).length
    return count > most.modules ? [`${folder} has ${count} modules; ${most.modules} is the limit`] : []
  })
}

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))

export const lineWidths: Rule = (sources) =>
  sources
    .filter(({ path }) => product(path))
    .flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, index) =>
          line.length > most.columns
            ? [`${path}:${index + 1} the line has ${line.length} columns; ${most.columns} is the limit`]
            : [],
        ),
    )

// ── rooms of the runtime ──

/**
 * Which room of src/runtime may import which. Modules beside the rooms compose them and may import all. No room
 * reaches back: `host → handles, resident → effects → resolve → hooks, secrets`, and all of them `→ watch → journal`.
 */
const rooms: Readonly<Record<string, readonly string[]>> = {
  host: ['handles', 'resident', 'effects', 'watch', 'journal'],
  handles: ['effects', 'resolve', 'secrets', 'watch', 'journal'],
  resident: ['effects', 'resolve', 'watch', 'journal'],
  effects: ['hooks', 'resolve', 'secrets', 'watch', 'journal'],
  resolve: ['hooks', 'secrets'],
  hooks: [],
  secrets: [],
  watch: ['journal'],
  journal: [],
  app: [],
  observe: [],
}

/** Types that rooms share. */
const shared: readonly string[] = ['src/runtime/services.ts', 'src/runtime/options.ts']

/** Undefined: not in a room of the runtime. */
function roomOf(path: string): string | undefined {
  return /^src\/runtime\/([^/]+)\//.exec(path)?.[1]
}

export const roomDirections: Rule = (sources) =>
  sources.flatMap((source) => {
    const room = roomOf(source.path)
    if (room === undefined) return []
    const permitted = rooms[room]
    if (!permitted) return [`${source.path}:1 ${room} is no room of src/runtime`]
    return importsOf(source).flatMap(({ target = '', typeOnly, line }) => {
      if (!target.startsWith('src/runtime/') || (typeOnly && shared.includes(target))) return []
      const to = roomOf(target)
      const isPermitted = to !== undefined && (to === room || permitted.includes(to))
      return isPermitted ? [] : [`${source.path}:${line} ${room} may not import ${target.slice('src/runtime/'.length)}`]
    })
  })

// ── exported names ──

/** Modules that are chosen by name share one: bodies of tools, commands, and doors that load what they open. */
function isSharedName(name: string, path: string): boolean {
  if (name === 'run') return path.startsWith('workers/')
  if (name === 'register') return path.startsWith('src/cli/commands/')
  return path === 'src/runtime/open.ts'
}

export const uniqueExports: Rule = (sources) => {
  const owners = new Map<string, string>()
  return exportsOfProduct(sources).flatMap(({ name, path, line }) => {
    if (isSharedName(name, path)) return []
    const owner = owners.get(name)
    owners.set(name, owner ?? path)
    return owner === undefined ? [] : [`${path}:${line} ${name} is also exported by ${owner}; rename one of them`]
  })
}

/** Words that say nothing to who has not read the code behind them. None may be part of an exported name … */
const retired: ReadonlySet<string> = new Set(
  (
    'awaited breath brief bringing chance clerk desk flight foresight ground halts holding means moment news ' +
    'pulse purse said saying shelf shelves stranger tally voice wanted wanter wanting worksheet'
  ).split(' '),
)
/** … and none of these may be the whole of one. */
const tooShort: ReadonlySet<string> = new Set(
  (
    'around asked charge door equip family given gone heard held kept known left line opening options order ' +
    'ordered over place registry relations say self speech spoken started starter ticket told word'
  ).split(' '),
)

export const retiredWords: Rule = (sources) =>
  exportsOfProduct(sources).flatMap(({ name, path, line }) => {
    const words = name.split(/(?<=[a-z0-9])(?=[A-Z])|_/).map((word) => word.toLowerCase())
    const [only = ''] = words
    const found = words.find((word) => retired.has(word)) ?? (words.length === 1 && tooShort.has(only) ? only : '')
    return found === '' ? [] : [`${path}:${line} ${name}: "${found}" is no name; say what it is or does`]
  })

function exportsOfProduct(sources: readonly Source[]) {
  return sources
    .filter(({ path }) => product(path))
    .flatMap((source) => declaredExports(source).map((each) => ({ ...each, path: source.path })))
}
