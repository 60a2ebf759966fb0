/**
 * An app as a folder by convention (D2): `agents/`, `prompts/`, `tools/` and `models/`, one definition to a file, which
 * gives it its name. All files go into one bundle, so that they share what they import.
 *
 * FA1 The bundle names its definitions after their files by itself: a worker thread that imports it needs no folder.
 * FA2 All mistakes of the folder are told at once, each with its file.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isDefinition } from '../agent/app.js'
import type { Definition } from '../agent/define.js'
import { SkeinError } from '../core/failure.js'
import { isObject } from '../core/json.js'

type Place = 'agents' | 'prompts' | 'tools' | 'models'

/** What each folder may hold. A server of tools stands among the tools. */
const places: Readonly<Record<Place, readonly Definition['kind'][]>> = { agents: ['agent'], prompts: ['prompt'], tools: ['tool', 'mcp'], models: ['model'] }

/** Folders of the convention that hold nothing that can run yet. */
const unsupported = ['hooks', 'api'] as const

interface AppFile {
  /** Below the app's folder, with `/`. */
  readonly path: string
  readonly place: Place
  readonly name: string
}

export interface Folder {
  readonly files: readonly AppFile[]
  readonly warnings: readonly string[]
}

/** What the folder holds. Throws where two files claim one name, and where there is nothing. */
export async function readFolder(folder: string): Promise<Folder> {
  const files: AppFile[] = []
  for (const place of ['agents', 'prompts', 'tools', 'models'] as const) {
    for (const name of await sourcesIn(join(folder, place))) files.push({ path: `${place}/${name}`, place, name: name.replace(/\.\w+$/, '') })
  }
  const mistakes = files.flatMap((file, index) => {
    const other = files.slice(0, index).find(({ place, name }) => place === file.place && name === file.name)
    return other ? [`${file.path} and ${other.path} both name "${file.name}"; keep one`] : []
  })
  refuse(folder, 'DUPLICATE_NAME', mistakes)
  if (files.length === 0) throw new SkeinError('APP_NOT_LOADED', `the folder ${folder} holds no app: no file in ${Object.keys(places).map((place) => `${place}/`).join(', ')}. Put one definition in each file, or name a module that exports them`)
  const left = await Promise.all(unsupported.map(async (place) => ((await sourcesIn(join(folder, place), true)).length > 0 ? [`${join(folder, place)}: ${place}/ is not supported yet; its files are left out`] : [])))
  return { files, warnings: left.flat() }
}

/** In order of their names. Tests, types, documents and what begins with a dot are no sources. */
async function sourcesIn(folder: string, recursive = false): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true, recursive })
    return entries
      .filter((entry) => !entry.isDirectory() && /^[^.].*\.(?:ts|mts|js|mjs)$/.test(entry.name) && !/\.(?:test|spec|d)\.\w+$/.test(entry.name))
      .map(({ name }) => name)
      .sort()
  } catch (thrown) {
    if (isObject(thrown) && (thrown['code'] === 'ENOENT' || thrown['code'] === 'ENOTDIR')) return []
    throw thrown
  }
}

/** The text of the module that is bundled: every file for the host to look at, and the definitions, named (FA1). */
export function entryOf({ files }: Folder): string {
  const imports = files.map(({ path }, index) => `import * as file${index} from ${JSON.stringify(`./${path}`)}`)
  const rows = files.map(({ path, name }, index) => `[${JSON.stringify(path)}, ${JSON.stringify(name)}, file${index}]`)
  return `${imports.join('\n')}
const isDefinition = (value) => typeof value === 'object' && value !== null && typeof value.kind === 'string'
const rows = [${rows.join(', ')}]
const named = (definition) => ({ name: '', ...definition })
export const files = rows.map(([path, name, module]) => ({ path, name, own: [...new Set(Object.values(module))].filter(isDefinition).map(named) }))
export const definitions = files.flatMap(({ own, name }) => own.map((definition) => ({ ...definition, name })))
`
}

/** The definitions that the bundle gave, each with its file. */
export function collect(folder: string, { files }: Folder, module: object): ReadonlyMap<Definition, string> {
  const rows = 'files' in module && Array.isArray(module.files) ? module.files : []
  const mistakes: string[] = []
  const found = new Map<Definition, string>()
  for (const [index, { path, place, name }] of files.entries()) {
    const exported: readonly unknown[] = rows[index]?.own ?? []
    const own = exported.filter(isDefinition)
    const [definition, more] = own
    const kinds = places[place]
    if (!definition) mistakes.push(`${path}: it exports no definition; its default export must be one`)
    else if (more) mistakes.push(`${path}: it exports ${own.length} definitions (${own.map(({ kind, name: each }) => `${kind} "${each}"`).join(', ')}); one file holds one`)
    else if (!kinds.includes(definition.kind)) mistakes.push(`${path}: it exports a ${definition.kind}; ${place}/ holds ${place}`)
    else if (definition.name !== '' && definition.name !== name) mistakes.push(`${path}: its definition is named "${definition.name}"; in a folder the file gives the name: rename one of them, or leave \`name\` out`)
    else found.set({ ...definition, name }, path)
  }
  refuse(folder, 'BAD_OPTION', mistakes)
  return found
}

/** FA2 */
function refuse(folder: string, code: 'BAD_OPTION' | 'DUPLICATE_NAME', mistakes: readonly string[]): void {
  if (mistakes.length === 0) return
  const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`
  throw new SkeinError(code, `the folder ${folder} has ${count}:\n${mistakes.map((text) => `- ${text}`).join('\n')}`, { data: { source: folder, mistakes } })
}
