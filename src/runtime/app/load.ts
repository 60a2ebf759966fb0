/**
 * Loads an app: a module by URL or path, a folder by convention (folder.ts), or definitions at hand.
 *
 * - A definition that is exported twice, by name and by default, is one definition.
 * - MCP servers are connected and skills are read before the app is checked: their tools are tools like any others.
 * - An export that looks like a definition but has no kind is reported, never left out silently.
 */
import { existsSync, statSync } from 'node:fs'
import { basename, extname, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createApp, isDefinition, lookalike } from '../../agent/app.js'
import type { App, AppOptions } from '../../agent/app.js'
import type { Definition, ToolDefinition } from '../../agent/define.js'
import type { Skill } from '../../agent/skills.js'
import { defined } from '../../core/defined.js'
import { SkeinError, isSkeinError } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import { sourceLineOf, whereAndWhy } from '../../pool/source-line.js'
import type { McpDefinition } from '../../tools/foreign/server.js'
import { ownTools } from '../../tools/own/all.js'
import { createSkillTools } from '../../tools/own/skills.js'
import type { MarkdownFile } from './markdown.js'
import type { SkillFolder } from './skills.js'

export type AppSource = URL | string | readonly Definition[] | { readonly [name: string]: unknown }

export interface LoadOptions {
  /** Tools that the app may use without defining them. */
  readonly builtins?: readonly ToolDefinition[]
  /** The tools by which models read skills. */
  readonly skillTools?: (skills: ReadonlyMap<string, Skill>) => readonly ToolDefinition[]
  /** The tools of these servers. The caller closes the connections, also when the app is refused afterwards. */
  readonly connectMcp?: (servers: readonly McpDefinition[]) => Promise<readonly ToolDefinition[]>
  /** This process may have loaded it before; its files are read and evaluated again. Packages are not. */
  readonly again?: boolean
}

const typescript = new Set(['.ts', '.mts', '.cts', '.tsx'])

export async function loadApp(source: AppSource, options: LoadOptions = {}): Promise<App> {
  if (Array.isArray(source)) return assemble(source, 'the list of definitions', options)
  if (source instanceof URL || typeof source === 'string') return loadFrom(appPath(source), options)
  return fromExports(source, 'the module of definitions', options)
}

/** An app as a host has it: its definitions, Skein's own tools, and those of the MCP servers that it names. */
export interface LoadedApp {
  readonly app: App
  readonly servers: readonly McpDefinition[]
  /** Closes the connections to its servers. */
  disconnect(): Promise<void>
}

export async function loadAppWithTools(
  source: AppSource,
  options: Pick<LoadOptions, 'again'> = {},
): Promise<LoadedApp> {
  let servers: readonly McpDefinition[] = []
  let disconnect = async (): Promise<void> => undefined
  try {
    const app = await loadApp(source, {
      ...options,
      builtins: ownTools,
      skillTools: createSkillTools,
      async connectMcp(definitions) {
        servers = definitions
        const { connectMcp } = await import('../../mcp/connect.js')
        // On the system clock, whatever clock the threads have: servers live in real time.
        const connected = await connectMcp(definitions)
        disconnect = () => connected.close()
        return connected.tools
      },
    })
    return { app, servers, disconnect: () => disconnect() }
  } catch (thrown) {
    await disconnect()
    throw thrown
  }
}

/** A string may be a URL, too: `import.meta.resolve('./app.js')`. */
export function appPath(source: URL | string): string {
  const text = String(source)
  if (/^file:/i.test(text)) return resolve(fileURLToPath(text))
  const isUrl = source instanceof URL || /^[a-z][a-z0-9+.-]+:/i.test(text)
  if (isUrl)
    throw new SkeinError('APP_NOT_LOADED', `the app ${text} is no file; give a path, or a URL that begins with file:`)
  return resolve(text)
}

/** `; did you mean app.ts?` where the ending was left out. */
function meantFile(path: string): string {
  const ending = ['.ts', '.mts', '.js', '.mjs'].find((each) => existsSync(`${path}${each}`))
  return ending === undefined ? '' : `; did you mean ${basename(path)}${ending}?`
}

/** Its name is known to `sourceLineOf` (src/pool/source-line.ts). */
async function loadFrom(path: string, options: LoadOptions): Promise<App> {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw new SkeinError('APP_NOT_LOADED', `there is no app at ${path}${meantFile(path)}`)
  try {
    return await (found.isDirectory() ? fromFolder(path, options) : fromModule(path, options))
  } catch (thrown) {
    const data = { app: path }
    // A mistake of the loader says all; one in what the app defines has its line.
    const says = sourceLineOf(thrown) === undefined ? '' : `the app ${path} could not be loaded: ${whereAndWhy(thrown)}`
    if (isSkeinError(thrown))
      throw new SkeinError(thrown.code, says || thrown.message, { cause: thrown, data: { ...thrown.data, ...data } })
    throw new SkeinError('APP_NOT_LOADED', `the app ${path} could not be loaded: ${whereAndWhy(thrown)}`, {
      cause: thrown,
      data,
    })
  }
}

async function fromModule(path: string, options: LoadOptions): Promise<App> {
  const module = await moduleAt(path, options)
  return fromExports(await importMapped(module), path, { ...options, module })
}

/** The URL that a file is imported by: of its bundle, where it is TypeScript or was imported before. */
async function moduleAt(path: string, { again = false }: Pick<LoadOptions, 'again'> = {}): Promise<string> {
  return moduleUrl(again || typescript.has(extname(path)) ? await bundle(path) : path, again)
}

/** Of an app in TypeScript or in a folder; the others need no compiler. */
async function bundle(path: string, text?: string): Promise<string> {
  const compiler = await import('./bundle.js')
  return compiler.bundle({ path, ...defined({ text }) })
}

let imports = 0
const failed = new Set<string>()

/** A module is evaluated once for each URL; one that failed may have been mended. */
function moduleUrl(file: string, again = false): string {
  const { href } = pathToFileURL(file)
  return again || failed.has(href) ? `${href}?again=${++imports}` : href
}

/** What a file exports, TypeScript or not; of the folder of an app, its named definitions. */
export async function importFile(path: string): Promise<object> {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return importMapped(await moduleAt(path))
  const { entryModule, readFolder } = await import('./folder.js')
  return importMapped(moduleUrl(await bundle(path, entryModule(await readFolder(path)))))
}

async function fromFolder(path: string, options: LoadOptions): Promise<App> {
  const { collectDefinitions, entryModule, readFolder } = await import('./folder.js')
  const folder = await readFolder(path)
  const module = moduleUrl(await bundle(path, entryModule(folder)), options.again)
  const { files, mistakes, claimed, documents } = collectDefinitions(folder, await importMapped(module))
  return assemble([...files.keys()], `the folder ${path}`, {
    ...options,
    module,
    files,
    mistakes,
    claimed,
    documents,
    skillFolders: folder.skills,
  })
}

/** Stacks of what is imported from now on name the sources; worker threads do the same (workers/thread/entry.ts). */
async function importMapped(module: string): Promise<object> {
  process.setSourceMapsEnabled(true)
  try {
    return await import(module)
  } catch (thrown) {
    failed.add(module)
    throw thrown
  }
}

function fromExports(module: object, source: string, options: LoadOptions & AppOptions): Promise<App> {
  const exported = exportsOf(module)
  const definitions = [...exported.keys()].filter(isDefinition)
  const lookalikes = [...exported].flatMap(([value, exportName]) => {
    const found = lookalike(value)
    if (!found) return []
    const name = isObject(value) && typeof value['name'] === 'string' ? value['name'] : exportName
    return [{ kind: found.kind, name, says: `the export ${exportName} ${found.says}` }]
  })
  if (definitions.length === 0) {
    const why =
      lookalikes.length > 0
        ? `: ${lookalikes.map(({ says }) => says).join('; ')}`
        : '; export what defineAgent, definePrompt, defineTool and defineModel give'
    throw new SkeinError('APP_NOT_LOADED', `${source} exports no definitions${why}`)
  }
  return assemble(definitions, source, {
    ...options,
    lookalikes,
    warnings: lookalikes.map(({ says }) => `${source}: ${says}; it is left out`),
  })
}

/** Every exported value with the first name that it is exported by. A list exports its members. */
function exportsOf(module: object): ReadonlyMap<unknown, string> {
  const exported = new Map<unknown, string>()
  for (const [name, value] of Object.entries(module)) {
    for (const member of [value].flat(1)) if (!exported.has(member)) exported.set(member, name)
  }
  return exported
}

interface Sources {
  readonly documents?: readonly MarkdownFile[]
  readonly skillFolders?: readonly SkillFolder[]
}

async function assemble(
  definitions: readonly Definition[],
  source: string,
  { connectMcp, documents = [], skillFolders = [], ...options }: LoadOptions & AppOptions & Sources,
): Promise<App> {
  const servers = definitions.filter((definition) => isDefinition(definition) && definition.kind === 'mcp')
  const [server] = servers
  if (server && !connectMcp)
    throw new SkeinError(
      'APP_NOT_LOADED',
      `${source} names the MCP server "${server.name}", and nothing was given to connect it`,
    )
  const tools = server && connectMcp ? await connectMcp(servers) : []
  const all = [...definitions, ...tools]
  const withSkills = await addSkills(all, skillFolders, options)
  if (documents.length === 0) return createApp(all, source, withSkills)
  const { readMarkdown } = await import('./markdown.js')
  const { files, lines, mistakes, claimed } = await readMarkdown(documents, [...all, ...(options.builtins ?? [])])
  return createApp([...all, ...files.keys()], source, {
    ...withSkills,
    files: new Map([...(withSkills.files ?? []), ...files]),
    lines,
    mistakes: [...(withSkills.mistakes ?? []), ...mistakes],
    claimed: [...(withSkills.claimed ?? []), ...claimed],
  })
}

/** The skills of the folders that the app has or names, and the tools that read them. */
async function addSkills(
  definitions: readonly Definition[],
  folders: readonly SkillFolder[],
  { skillTools = () => [], ...options }: Omit<LoadOptions, 'connectMcp'> & AppOptions,
): Promise<AppOptions> {
  const sets = definitions.filter((definition) => isDefinition(definition) && definition.kind === 'skillset')
  const all = [...folders, ...sets.map(({ name }) => ({ folder: name, title: name }))]
  const { skills, mistakes, warnings, claimed } =
    all.length === 0 ? noSkills : await (await import('./skills.js')).readSkills(all)
  const tools = skillTools(new Map(skills.map((skill) => [skill.name, skill])))
  return {
    ...options,
    skills,
    builtins: [...(options.builtins ?? []), ...tools],
    warnings: [...(options.warnings ?? []), ...warnings],
    mistakes: [...(options.mistakes ?? []), ...mistakes],
    claimed: [...(options.claimed ?? []), ...claimed],
  }
}

const noSkills = { skills: [], mistakes: [], warnings: [], claimed: [] }
