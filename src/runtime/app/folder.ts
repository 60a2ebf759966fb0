/**
 * An app as a folder by convention (D2): `agents/`, `prompts/`, `tools/`, `models/` and `hooks/`, one definition per
 * file, which gives it its name, `api/` with its subfolders, whose files give routes (H2), and `skills/`. All sources
 * go into one bundle, so that they share what they import; agents and prompts in Markdown (markdown.ts) and skills
 * (skills.ts) are read by the host alone: no body needs them.
 *
 * - The bundle itself names its definitions after their files: a worker that imports it needs no folder.
 * - A mistake in one file does not stop the reading of others: all mistakes are reported at once, each with its file,
 *   when the app is checked.
 */
import { readdir, stat } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { isDefinition, lookalike } from '../../agent/app.js'
import type { AppOptions, Mistake } from '../../agent/app.js'
import type { Definition } from '../../agent/define.js'
import { nearest } from '../../core/mistakes/nearest.js'
import { SkeinError } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import type { MarkdownFile } from './markdown.js'
import type { SkillFolder } from './skills.js'

type Section = 'agents' | 'prompts' | 'tools' | 'models' | 'hooks' | 'api'

/** The kinds of definitions in each subfolder. An MCP server is among the tools. */
const sections: Readonly<Record<Section, readonly Definition['kind'][]>> = {
  agents: ['agent'],
  prompts: ['prompt'],
  tools: ['tool', 'mcp'],
  models: ['model'],
  hooks: ['hook'],
  api: ['endpoint'],
}

/** Subfolders that may hold definitions. */
export const folderNames: readonly string[] = Object.keys(sections)

interface AppFile {
  /** Relative to the app's folder, with `/`. */
  readonly path: string
  readonly section: Section
  readonly name: string
}

export interface AppFolder {
  readonly files: readonly AppFile[]
  readonly documents: readonly MarkdownFile[]
  /** At most one: `skills/`. */
  readonly skills: readonly SkillFolder[]
  readonly misspelt: readonly Mistake[]
}

/** The files of the app. Throws where there are none. */
export async function readFolder(folder: string): Promise<AppFolder> {
  const files: AppFile[] = []
  const documents: MarkdownFile[] = []
  for (const section of ['agents', 'prompts', 'tools', 'models', 'hooks', 'api'] as const) {
    const isText = section === 'agents' || section === 'prompts'
    for (const base of await sourcesIn(join(folder, section), { markdown: isText, recursive: section === 'api' })) {
      const path = `${section}/${base}`
      const name = base.replace(/\.\w+$/, '')
      if (isText && extname(base) === '.md') documents.push({ path, section, name, file: join(folder, path) })
      else files.push({ path, section, name })
    }
  }
  const misspelt = await misspeltIn(folder)
  if (files.length + documents.length === 0)
    throw new SkeinError(
      'APP_NOT_LOADED',
      `the folder ${folder} holds no app: no file in ${Object.keys(sections)
        .map((section) => `${section}/`)
        .join(', ')}. ${misspelt.map(({ text }) => `${text}. `).join('')}Put one definition in each file, ` +
        `or name a module that exports them`,
    )
  const skills = join(folder, 'skills')
  const hasSkills = (await stat(skills).catch(() => undefined))?.isDirectory() === true
  return {
    files,
    documents,
    skills: hasSkills ? [{ folder: skills, title: 'skills' }] : [],
    misspelt,
  }
}

/** Subfolders that nobody reads because of their names: `skils/`, `tool/`, and no `skills/` or `tools/` beside them. */
async function misspeltIn(folder: string): Promise<readonly Mistake[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  const absent = [...folderNames, 'skills'].filter((name) => !names.includes(name))
  return names.flatMap((name): readonly Mistake[] => {
    const meant = nearest(name, absent)
    if (meant === undefined || name.length < 3) return []
    return [{ code: 'BAD_OPTION', text: `${name}/ is read by nobody: did you mean ${meant}/?` }]
  })
}

interface SourceOptions {
  readonly recursive?: boolean
  /** Agents and prompts may be Markdown. */
  readonly markdown?: boolean
}

/** Sorted by path in the folder. Tests, type declarations, a README and dotfiles are no sources. */
async function sourcesIn(
  folder: string,
  { recursive = false, markdown = false }: SourceOptions = {},
): Promise<readonly string[]> {
  const sources = markdown ? /^[^.].*\.(?:ts|mts|js|mjs|md)$/ : /^[^.].*\.(?:ts|mts|js|mjs)$/
  try {
    const entries = await readdir(folder, { withFileTypes: true, recursive })
    return entries
      .filter(
        (entry) =>
          !entry.isDirectory() && sources.test(entry.name) && !/\.(?:test|spec|d)\.\w+$|^README\.md$/i.test(entry.name),
      )
      .map(({ name, parentPath }) => relative(folder, join(parentPath, name)).replaceAll(sep, '/'))
      .sort()
  } catch (thrown) {
    if (isObject(thrown) && (thrown['code'] === 'ENOENT' || thrown['code'] === 'ENOTDIR')) return []
    throw thrown
  }
}

/** The text of the entry module: the exports of every file, for the host to check, and the named definitions. */
export function entryModule({ files }: AppFolder): string {
  const imports = files.map(({ path }, index) => `import * as file${index} from ${JSON.stringify(`./${path}`)}`)
  const rows = files.map(({ path, name }, index) => `[${JSON.stringify(path)}, ${JSON.stringify(name)}, file${index}]`)
  return `${imports.join('\n')}
const isDefinition = (value) => typeof value === 'object' && value !== null && typeof value.kind === 'string'
const rows = [${rows.join(', ')}]
const named = (definition) => ({ name: '', ...definition })
const definitionsIn = (module) => [...new Set(Object.values(module))].filter(isDefinition).map(named)
export const files = rows.map(([path, name, module]) => ({ path, name, own: definitionsIn(module), module }))
export const definitions = files.flatMap(({ own, name }) => own.map((definition) => ({ ...definition, name })))
`
}

interface Collected extends Required<Pick<AppOptions, 'files' | 'mistakes' | 'claimed'>> {
  /** Those whose names no other file gives. */
  readonly documents: readonly MarkdownFile[]
}

/** The definitions that the bundle exports, each with its file, and the mistakes in files. */
export function collectDefinitions({ files, documents, misspelt }: AppFolder, module: object): Collected {
  const rows = 'files' in module && Array.isArray(module.files) ? module.files : []
  const found = new Map<Definition, string>()
  const duplicates: Mistake[] = []
  const mistakes: Mistake[] = []
  const claimed: Collected['claimed'][number][] = []
  for (const [index, file] of files.entries()) {
    const { path, section, name } = file
    const exported: readonly unknown[] = rows[index]?.own ?? []
    const own = exported.filter(isDefinition)
    const [definition] = own
    const [kind = 'tool'] = sections[section]
    const mistake = mistakeOf(file, own, rows[index]?.module)
    const other = files.slice(0, index).find((earlier) => earlier.section === section && earlier.name === name)
    if (mistake !== undefined) {
      mistakes.push({ code: 'BAD_OPTION', text: `${path}: ${mistake}` })
      // A definition that refers to one of these is not a second mistake.
      claimed.push({ kind, name }, ...own)
    }
    if (other)
      duplicates.push({ code: 'DUPLICATE_NAME', text: `${path} and ${other.path} both name "${name}"; keep one` })
    if (own.length === 1 && definition && sections[section].includes(definition.kind) && !other)
      found.set({ ...definition, name }, path)
  }
  const unique = documents.filter((document, index) => {
    const others = [...files, ...documents.slice(0, index)]
    const twice = duplicatesOf(document, others)
    if (twice.length > 0) claimed.push({ kind: 'agent', name: document.name }, { kind: 'prompt', name: document.name })
    duplicates.push(...twice)
    return twice.length === 0
  })
  return { files: found, mistakes: [...misspelt, ...duplicates, ...mistakes], claimed, documents: unique }
}

/** A file in agents/ is a prompt, too. */
function duplicatesOf({ path, section, name }: MarkdownFile, others: readonly SectionFile[]): readonly Mistake[] {
  const sameName = others.filter((other) => other.name === name)
  const kinds = section === 'agents' ? (['agents', 'prompts'] as const) : (['prompts'] as const)
  return kinds.flatMap((kind): readonly Mistake[] => {
    const other = sameName.find((each) => each.section === kind || (kind === 'prompts' && isAgentDocument(each)))
    if (!other) return []
    const what = kind === 'agents' ? 'agent' : 'prompt'
    return [{ code: 'DUPLICATE_NAME', text: `${path} and ${other.path} both name the ${what} "${name}"; keep one` }]
  })
}

type SectionFile = Pick<AppFile, 'path' | 'section' | 'name'>

function isAgentDocument({ path, section }: SectionFile): boolean {
  return section === 'agents' && path.endsWith('.md')
}

function mistakeOf({ section, name }: AppFile, own: readonly Definition[], module: unknown): string | undefined {
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
  if (!sections[section].includes(definition.kind))
    return `it exports a ${definition.kind}; ${section}/ holds ${section === 'api' ? 'endpoints' : section}`
  if (definition.name === '' || definition.name === name) return undefined
  return (
    `its definition is named "${definition.name}"; in a folder the file gives the name: rename one of them, ` +
    `or leave \`name\` out`
  )
}
