/**
 * An app as a folder by convention (D2): `agents/`, `prompts/`, `tools/` and `models/`, one definition to a file, which
 * gives it its name. All files go into one bundle, so that they share what they import.
 *
 * - The bundle names its definitions after their files by itself: a worker thread that imports it needs no folder.
 * - A mistake of a file keeps nothing else from being looked at: all are told at once, each with its file, by whoever
 *   checks the app.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isDefinition, lookalike } from '../../agent/app.js'
import type { AppOptions, Mistake } from '../../agent/app.js'
import type { Definition } from '../../agent/define.js'
import { SkeinError } from '../../core/failure.js'
import { isObject } from '../../core/json.js'

type Place = 'agents' | 'prompts' | 'tools' | 'models'

/** What each folder may hold. A server of tools stands among the tools. */
const places: Readonly<Record<Place, readonly Definition['kind'][]>> = {
  agents: ['agent'],
  prompts: ['prompt'],
  tools: ['tool', 'mcp'],
  models: ['model'],
}

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

/** What the folder holds. Throws where there is nothing. */
export async function readFolder(folder: string): Promise<Folder> {
  const files: AppFile[] = []
  for (const place of ['agents', 'prompts', 'tools', 'models'] as const) {
    for (const name of await sourcesIn(join(folder, place)))
      files.push({ path: `${place}/${name}`, place, name: name.replace(/\.\w+$/, '') })
  }
  if (files.length === 0)
    throw new SkeinError(
      'APP_NOT_LOADED',
      `the folder ${folder} holds no app: no file in ${Object.keys(places)
        .map((place) => `${place}/`)
        .join(', ')}. Put one definition in each file, or name a module that exports them`,
    )
  const left = await Promise.all(
    unsupported.map(async (place) =>
      (await sourcesIn(join(folder, place), true)).length > 0
        ? [`${join(folder, place)}: ${place}/ is not supported yet; its files are left out`]
        : [],
    ),
  )
  return { files, warnings: left.flat() }
}

/** In order of their names. Tests, types, documents and what begins with a dot are no sources. */
async function sourcesIn(folder: string, recursive = false): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true, recursive })
    return entries
      .filter(
        (entry) =>
          !entry.isDirectory() &&
          /^[^.].*\.(?:ts|mts|js|mjs)$/.test(entry.name) &&
          !/\.(?:test|spec|d)\.\w+$/.test(entry.name),
      )
      .map(({ name }) => name)
      .sort()
  } catch (thrown) {
    if (isObject(thrown) && (thrown['code'] === 'ENOENT' || thrown['code'] === 'ENOTDIR')) return []
    throw thrown
  }
}

/** The text of the module that is bundled: every file for the host to look at, and the definitions, named. */
export function entryModule({ files }: Folder): string {
  const imports = files.map(({ path }, index) => `import * as file${index} from ${JSON.stringify(`./${path}`)}`)
  const rows = files.map(({ path, name }, index) => `[${JSON.stringify(path)}, ${JSON.stringify(name)}, file${index}]`)
  return `${imports.join('\n')}
const isDefinition = (value) => typeof value === 'object' && value !== null && typeof value.kind === 'string'
const rows = [${rows.join(', ')}]
const named = (definition) => ({ name: '', ...definition })
export const files = rows.map(([path, name, module]) => ({ path, name, own: [...new Set(Object.values(module))].filter(isDefinition).map(named), module }))
export const definitions = files.flatMap(({ own, name }) => own.map((definition) => ({ ...definition, name })))
`
}

type Collected = Required<Pick<AppOptions, 'files' | 'mistakes' | 'claimed'>>

/** The definitions that the bundle gave, each with its file, and what is wrong with files. */
export function collectDefinitions({ files }: Folder, module: object): Collected {
  const rows = 'files' in module && Array.isArray(module.files) ? module.files : []
  const found = new Map<Definition, string>()
  const twice: Mistake[] = []
  const wrong: Mistake[] = []
  const claimed: Collected['claimed'][number][] = []
  for (const [index, file] of files.entries()) {
    const { path, place, name } = file
    const exported: readonly unknown[] = rows[index]?.own ?? []
    const own = exported.filter(isDefinition)
    const [definition] = own
    const [kind = 'tool'] = places[place]
    const says = mistakeOf(file, own, rows[index]?.module)
    const other = files.slice(0, index).find((earlier) => earlier.place === place && earlier.name === name)
    if (says !== undefined) wrong.push({ code: 'BAD_OPTION', text: `${path}: ${says}` })
    if (other) twice.push({ code: 'DUPLICATE_NAME', text: `${path} and ${other.path} both name "${name}"; keep one` })
    // Whoever names one of these has made no second mistake.
    if (says !== undefined) claimed.push({ kind, name }, ...own)
    if (own.length === 1 && definition && places[place].includes(definition.kind) && !other)
      found.set({ ...definition, name }, path)
  }
  return { files: found, mistakes: [...twice, ...wrong], claimed }
}

function mistakeOf({ place, name }: AppFile, own: readonly Definition[], module: unknown): string | undefined {
  const [definition, more] = own
  if (!definition) {
    const [plain] = Object.entries(isObject(module) ? module : {}).flatMap(([key, value]) => {
      const seems = lookalike(value)
      return seems ? [`${key === 'default' ? 'its default export' : key} ${seems.says}`] : []
    })
    return `it exports no definition${plain === undefined ? '; its default export must be one' : `: ${plain}`}`
  }
  if (more)
    return (
      `it exports ${own.length} definitions ` +
      `(${own.map(({ kind, name: each }) => `${kind} "${each}"`).join(', ')}); one file holds one`
    )
  if (!places[place].includes(definition.kind)) return `it exports a ${definition.kind}; ${place}/ holds ${place}`
  if (definition.name === '' || definition.name === name) return undefined
  return (
    `its definition is named "${definition.name}"; in a folder the file gives the name: rename one of them, ` +
    `or leave \`name\` out`
  )
}
