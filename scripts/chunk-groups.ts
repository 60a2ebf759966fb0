/**
 * Which modules are in memory whenever an entry is imported, for chunks.ts. esbuild makes a file for every set of
 * entries that share modules; an entry that imports what is loaded anyway shares all of it, and makes no more files.
 *
 * - Only what starts a large part counts (`large`). An entry of the package is imported by anybody, so what precedes it
 *   is said here (`after`); what precedes a module that is imported later follows from those that import it.
 * - A module of a large part does not import that part: it would be a circle, which changes the order of modules.
 */
import type { Metafile } from 'esbuild'

type Modules = Metafile['inputs']

const definitions = 'src/index.js'
const bodies = 'workers/body/invoke.js'
const client = 'src/runtime/handles/client.js'
const host = 'src/runtime/skein.js'
const localStore = 'src/backend/local/host.js'
const large = [definitions, bodies, client, host, localStore]

/**
 * Bodies of tools are run by `invoke`, for an app. Every thread of workers imports the app. Clients of a folder need
 * most of what its owner needs, and the last four most of a host.
 */
const after: readonly (readonly [entries: RegExp, parts: readonly string[]])[] = [
  [/^src\/(?:testing|server|observe)\.js$/, [definitions]],
  [/^workers\/body\/invoke\.js$/, [definitions]],
  [/^workers\/thread\/entry\.js$/, [definitions, bodies]],
  [/^src\/backend\/local\/(?:client|examine)\.js$/, [localStore]],
  [/^workers\/(?:builtins|host-tools)\//, [definitions, bodies]],
  [/^src\/(?:runtime\/diagnose|runtime\/app\/(?:watch|type-map)|replay\/replay)\.js$/, [definitions, client, host]],
]

const saidOf = (entry: string): readonly string[] =>
  after.flatMap(([entries, parts]) => (entries.test(entry) ? parts : []))

function closureOf(modules: Modules, start: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(start)) return seen
  seen.add(start)
  for (const { path, kind } of modules[start]?.imports ?? [])
    if (kind === 'import-statement' && modules[path]) closureOf(modules, path, seen)
  return seen
}

/** Module that is imported later → those that do. */
function importersOf(modules: Modules): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const [module, { imports }] of Object.entries(modules))
    for (const { path, kind } of imports)
      if (kind === 'dynamic-import' && modules[path]) found.set(path, [...(found.get(path) ?? []), module])
  return found
}

const inAll = (sets: readonly ReadonlySet<string>[]): readonly string[] =>
  large.filter((part) => sets.every((set) => set.has(part)))

/** Entry → what to import before it. */
export function loadedBefore(modules: Modules, doors: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const named = new Set(doors.map((door) => `${door}.js`))
  const importers = importersOf(modules)
  const closures = new Map([...named, ...importers.keys()].map((entry) => [entry, closureOf(modules, entry)]))
  // Of those that anybody imports: what they import themselves, and what is said. Of the others: all, until refuted.
  const loaded = new Map(
    [...closures].map(([entry, closure]) => [
      entry,
      new Set(named.has(entry) ? [...large.filter((part) => closure.has(part)), ...saidOf(entry)] : large),
    ]),
  )
  const entriesWith = (module: string): readonly string[] =>
    [...closures].filter(([, closure]) => closure.has(module)).map(([entry]) => entry)
  for (let settled = false; !settled;) {
    settled = true
    for (const [entry, from] of importers) {
      const before = loaded.get(entry)
      if (named.has(entry) || !before) continue
      const always = inAll(from.flatMap(entriesWith).map((each) => loaded.get(each) ?? new Set()))
      const sure = new Set([...always, ...saidOf(entry), ...(closures.get(entry) ?? [])])
      for (const part of before) if (!sure.has(part)) settled = !before.delete(part) && settled
    }
  }
  const within = (entry: string, part: string): boolean => closures.get(part)?.has(entry) === true
  const found = new Map(
    [...loaded].map(([entry, before]) => [entry, [...before].filter((part) => !within(entry, part))]),
  )
  // Words and own tools that a host shares with others go with the definitions: each would be a file of its own.
  const others = [...loaded].flatMap(([entry, before]) =>
    [bodies, client, host].some((part) => before.has(part)) ? [] : [closures.get(entry)],
  )
  const isShared = (module: string): boolean =>
    /^src\/(?:core|tools\/own)\//.test(module) && others.some((closure) => closure?.has(module))
  return found.set(definitions, [...(closures.get(host) ?? [])].filter(isShared))
}
