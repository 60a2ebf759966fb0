/**
 * Agents and prompts as Markdown files of a folder app: front matter has the fields, the body is the prompt. A file in
 * agents/ is an agent and its prompt. The subagent files of coding agents are of this form, and load where the app has
 * what they name.
 *
 * - A field goes to the definition that has it; what it may be is checked there, and reported with its line.
 * - Names of tools and models are resolved when all others are known: as they are, without regard to case, or by what
 *   coding agents call them. A name that fits nothing stays, and is a mistake of the app like any other.
 */
import { readFile, stat } from 'node:fs/promises'
import { z } from 'zod'
import type { AppOptions, Mistake } from '../../agent/app.js'
import type { Claim } from '../../agent/checks/mentions.js'
import type { Definition, ModelDefinition } from '../../agent/define.js'
import { nearest } from '../../core/mistakes/nearest.js'
import { fieldNames } from '../../agent/forms.js'
import { isDefinition } from '../../agent/lookalike.js'
import { parseFrontMatter } from './front-matter.js'
import type { FrontMatter, ParsedFrontMatter } from './front-matter.js'
import { splitNames } from './name-list.js'

export interface MarkdownFile {
  /** Relative to the app's folder. */
  readonly path: string
  readonly section: 'agents' | 'prompts'
  readonly name: string
  /** The path on this machine. */
  readonly file: string
}

/** The definitions of all files that can be read. */
export interface MarkdownDefinitions extends Required<Pick<AppOptions, 'files' | 'lines'>> {
  readonly mistakes: readonly Mistake[]
  readonly claimed: readonly Claim[]
}

/** `others`: all other definitions of the app, and Skein's own tools. */
export async function readMarkdown(
  documents: readonly MarkdownFile[],
  others: readonly Definition[],
): Promise<MarkdownDefinitions> {
  const files = new Map<Definition, string>()
  const lines = new Map<Definition, (field: readonly PropertyKey[]) => string>()
  const mistakes: Mistake[] = []
  const claimed: Claim[] = []
  const callable = documents.filter(({ section }) => section === 'agents').map(({ name }) => name)
  const resolver = createResolver(others, callable)
  for (const document of documents) {
    const { path, section, name, file } = document
    const parsed = await parseFile(file)
    const claims: readonly Claim[] = [
      { kind: 'prompt', name },
      ...(section === 'agents' ? [{ kind: 'agent', name } as const] : []),
    ]
    const wrong = 'mistakes' in parsed ? parsed.mistakes : checkDocument(document, parsed, resolver)
    mistakes.push(...wrong.map(({ line, text }): Mistake => ({ code: 'BAD_OPTION', text: `${path}:${line}: ${text}` })))
    if ('mistakes' in parsed) {
      claimed.push(...claims)
      continue
    }
    // Also of a file with mistakes: those that only the app knows are reported with them.
    const model = resolver.model(parsed.fields['model'])
    if ('why' in model) claimed.push({ kind: 'model', name: unknownModel, standsIn: true })
    for (const definition of toDefinitions(document, parsed, resolver)) {
      files.set(definition, path)
      lines.set(definition, (field) => `${path}:${lineOf(parsed, field)}`)
    }
  }
  return { files, lines, mistakes, claimed }
}

const longestPrompt = 1_000_000

async function parseFile(file: string): Promise<ParsedFrontMatter> {
  const { size } = await stat(file)
  return size > longestPrompt
    ? { mistakes: [{ line: 1, text: `it has ${size} bytes; ${longestPrompt} is the limit` }] }
    : parseFrontMatter(await readFile(file))
}

/** In place of a name that was reported. */
const unknownModel = 'unknown'

/** Fields of a side stand beside those of the agent; the text of the prompt is the body. */
function lineOf({ lineOf: find, bodyLine }: FrontMatter, field: readonly PropertyKey[]): number {
  const [first, ...rest] = field
  if (first === 'prompt') return bodyLine
  if (first === 'sideA') return find(rest)
  return find(first === 'toolDescription' ? ['description'] : field)
}

// ── fields ──

/** Fields that the file itself decides. */
const fixed = new Set(['kind', 'name', 'type', 'sideA', 'sideB', 'maxSessionTurns', 'prompt'])
/** Fields that the loader reads itself. */
const common = ['name', 'description', 'tools', 'model', 'skills', 'disallowedTools']
/** For people and for other programs. */
const silent = new Set(['color', 'version', 'author', 'license', 'tags', 'category', 'metadata'])

/** What coding agents call something that Skein says otherwise. */
const foreign: Readonly<Record<string, string>> = {
  maxTurns: 'the limit of an agent is maxSteps',
  permissionMode: 'approval is decided tool by tool (needsApproval in its definition)',
  mcpServers: 'an MCP server is a file in tools/, and its tools are named in tools',
  effort: 'say reasoning: low, medium or high',
  memory: 'a thread keeps its own files',
  background: 'who calls an agent says whether it waits (blocking)',
  isolation: 'who calls an agent says which files it gets (files: fork)',
}

const ofPrompt = new Set(fieldNames.prompt().filter((field) => !fixed.has(field)))
const ofAgent = new Set(fieldNames.agent().filter((field) => !fixed.has(field)))
const ofSide = new Set(fieldNames.side().filter((field) => !fixed.has(field)))

function fieldsIn(section: MarkdownFile['section']): readonly string[] {
  return [...common, ...ofPrompt, ...(section === 'agents' ? [...ofAgent, ...ofSide] : [])]
}

const names = z.union([z.null(), z.string(), z.array(z.unknown())], 'must be names with commas between them, or a list')

const commonForm = z.looseObject({
  description: z.string('must be a text').optional(),
  tools: names.optional(),
  disallowedTools: names.optional(),
  skills: z.union([z.boolean(), names], 'must be true, names with commas between them, or a list').optional(),
})

interface LineText {
  readonly line: number
  readonly text: string
}

function checkDocument(
  { section, name }: MarkdownFile,
  { fields, body, bodyLine, lineOf: find }: FrontMatter,
  resolver: Resolver,
): readonly LineText[] {
  const known = fieldsIn(section)
  const found: LineText[] = Object.keys(fields)
    .filter((field) => !known.includes(field) && !silent.has(field))
    .map((field) => ({ line: find([field]), text: `${field}: ${unknownField(field, known)}` }))
  const say = (field: string, text: string): unknown => found.push({ line: find([field]), text: `${field}: ${text}` })
  const { name: ownName = name, tools, model } = fields
  if (ownName !== name)
    say('name', `it is ${JSON.stringify(ownName)}, and the file gives the name: rename one, or leave it out`)
  for (const { path, message } of commonForm.safeParse(fields).error?.issues ?? []) say(String(path[0]), message)
  for (const tool of namesIn(tools)) {
    const wrong = typeof tool === 'string' ? unusable(tool) : undefined
    if (wrong !== undefined) found.push({ line: find(['tools', String(tool)]), text: `tools: ${wrong}` })
  }
  const wrongModel = resolver.model(model)
  if ('why' in wrongModel) say('model', wrongModel.why)
  if (body === '') found.push({ line: bodyLine, text: 'it has no text below its front matter: that is the prompt' })
  return found.sort((one, other) => one.line - other.line)
}

function unknownField(field: string, known: readonly string[]): string {
  const advice = foreign[field]
  if (advice !== undefined) return `there is no such field; ${advice}`
  const meant = nearest(field.replaceAll('-', ''), known)
  return `there is no such field${meant === undefined ? '' : `; did you mean ${meant}?`}`
}

/** A name that says more than a name. */
function unusable(tool: string): string | undefined {
  if (tool === '*') return '"*": the tools of an agent are named one by one'
  const [, name] = /^([^(]*)\(.*\)$/s.exec(tool) ?? []
  return name === undefined
    ? undefined
    : `"${tool}": a part of a tool cannot be named; name ${name}, or define a tool that does no more than this`
}

function namesIn(value: unknown): readonly unknown[] {
  if (typeof value === 'string') return splitNames(value)
  return Array.isArray(value) ? value.map((each: unknown) => (typeof each === 'string' ? each.trim() : each)) : []
}

// ── names ──

interface Resolver {
  tool(name: string): string
  model(name: unknown): { readonly name: string } | { readonly why: string }
}

/** What coding agents call tools that Skein has under another name. */
const toolAliases: Readonly<Record<string, string>> = {
  todowrite: 'manage_todo_list',
  todoread: 'manage_todo_list',
  askuserquestion: 'ask_user_question',
  multiedit: 'edit',
  shell: 'bash',
}

function createResolver(others: readonly Definition[], agents: readonly string[]): Resolver {
  const callable = new Set(agents)
  const models: ModelDefinition[] = []
  for (const each of others) {
    if (each.kind === 'model') models.push(each)
    else callable.add(each.name)
  }
  const byLower = new Map([...callable].map((name) => [name.toLowerCase(), name]))
  return {
    tool(name) {
      if (callable.has(name)) return name
      // mcp__server__tool
      const [, server = '', tool = name] = /^mcp__(.+?)__(.+)$/.exec(name) ?? []
      const candidates = [tool, `${server}_${tool}`, toolAliases[tool.toLowerCase()] ?? '']
      return candidates.flatMap((each) => byLower.get(each.toLowerCase()) ?? [])[0] ?? name
    },
    model: (name) => resolveModel(name, models),
  }
}

function resolveModel(name: unknown, models: readonly ModelDefinition[]): ReturnType<Resolver['model']> {
  const own = models.map((model) => model.name)
  const called = (alias: string): ModelDefinition | undefined =>
    models.find((model) => model.name === alias) ??
    models.find(({ aliases = [] }) => Array.isArray(aliases) && aliases.includes(alias))
  const known = `there are: ${own.join(', ') || 'none'}`
  if (name === undefined || name === null || name === 'inherit') {
    const only = called('inherit') ?? (models.length === 1 ? models[0] : undefined)
    return only
      ? { name: only.name }
      : { why: `it names none, and the app has several; name one, or give one aliases: ['inherit']; ${known}` }
  }
  if (typeof name !== 'string') return { why: 'must be the name of a model' }
  const found = called(name)
  if (found) return { name: found.name }
  const meant = nearest(name, own)
  return {
    why:
      `the app has no model "${name}"; ${meant === undefined ? '' : `did you mean "${meant}"? `}${known}. A model ` +
      `may have other names: defineModel({ aliases: ['${name}'], … })`,
  }
}

// ── definitions ──

function toDefinitions(
  { section, name }: MarkdownFile,
  { fields, body }: FrontMatter,
  resolver: Resolver,
): readonly Definition[] {
  const isAgent = section === 'agents'
  const { description } = fields
  const model = resolver.model(fields['model'])
  const exposed = typeof description !== 'string' ? {} : { toolDescription: description, exposeAsTool: true }
  const pick = (wanted: ReadonlySet<string>, taken: ReadonlySet<string> = new Set()): object =>
    Object.fromEntries(Object.entries(fields).filter(([field]) => wanted.has(field) && !taken.has(field)))
  const prompt = {
    ...(isAgent ? {} : exposed),
    ...pick(ofPrompt, isAgent ? ofAgent : undefined),
    ...named('tools', toolsOf(fields, resolver)),
    ...named('skills', skillsIn(fields['skills'])),
    kind: 'prompt',
    name,
    prompt: body,
    model: 'name' in model ? model.name : unknownModel,
  }
  const side = { ...pick(ofSide), prompt: name }
  const agent = { ...exposed, ...pick(ofAgent), kind: 'agent', name, type: 'ai_human', sideA: side }
  // What a file says may be anything; the app checks it like a definition from plain JavaScript.
  const made: readonly unknown[] = isAgent ? [agent, prompt] : [prompt]
  return made.filter(isDefinition)
}

function named(field: string, value: unknown): object {
  return value === undefined ? {} : { [field]: value }
}

function toolsOf({ tools, disallowedTools }: FrontMatter['fields'], { tool }: Resolver): unknown {
  if (tools === undefined || tools === null) return undefined
  const refused = new Set(namesIn(disallowedTools).map((name) => (typeof name === 'string' ? tool(name) : name)))
  const usable = namesIn(tools).filter((each) => typeof each !== 'string' || unusable(each) === undefined)
  const resolved = usable.map((each) => (typeof each === 'string' ? tool(each) : each))
  // Two names of a coding agent may be one tool here.
  return [...new Set(resolved)].filter((each) => !refused.has(each))
}

function skillsIn(value: unknown): unknown {
  return typeof value === 'string' ? splitNames(value) : (value ?? undefined)
}
