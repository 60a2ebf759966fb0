/**
 * Reads a folder of Agent Skills: each folder in it has a SKILL.md with the fields of the open format, and any files
 * beside it. Everything is read at once, within limits, so that the app does not change while it runs.
 *
 * - No link leads out of a skill: what is outside of it is no content of the app.
 * - A broken skill is a mistake of the app, with its file and line; the others are read all the same.
 */
import { lstat, readFile, readdir, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { Mistake } from '../../agent/app.js'
import type { Claim } from '../../agent/checks/mentions.js'
import { nearest } from '../../core/mistakes/nearest.js'
import type { Skill } from '../../agent/skills.js'
import { defined } from '../../core/defined.js'
import { isObject } from '../../core/json.js'
import { splitNames } from './name-list.js'
import { parseFrontMatter } from './front-matter.js'

const most = { skillBytes: 200_000, fileBytes: 10_000_000, files: 500, bytes: 20_000_000 } as const

export interface SkillFolder {
  /** A path, or a URL of a file. */
  readonly folder: string
  /** How messages name it: `skills` in a folder app. */
  readonly title: string
}

export interface ReadSkills {
  readonly skills: readonly Skill[]
  readonly mistakes: readonly Mistake[]
  readonly warnings: readonly string[]
  /** Skills that cannot be read. */
  readonly claimed: readonly Claim[]
}

/** What went wrong, and where. */
class SkillMistake extends Error {
  readonly at: string
  constructor(at: string, text: string) {
    super(text)
    this.at = at
  }
}

export async function readSkills(folders: readonly SkillFolder[]): Promise<ReadSkills> {
  const skills = new Map<string, Skill>()
  const homes = new Map<string, string>()
  const mistakes: Mistake[] = []
  const warnings: string[] = []
  const claimed: Claim[] = []
  for (const { folder, title } of folders) {
    const names = await skillsIn(folder, title, mistakes)
    for (const name of names) {
      const at = `${title}/${name}`
      const other = homes.get(name)
      if (other !== undefined) {
        mistakes.push({ code: 'DUPLICATE_NAME', text: `${at} and ${other} are both the skill "${name}"; keep one` })
        continue
      }
      homes.set(name, at)
      const wrong = await readSkill({ path: join(pathOf(folder), name), name, at, warnings })
      if ('skill' in wrong) skills.set(name, wrong.skill)
      else {
        mistakes.push(...wrong.texts.map((text): Mistake => ({ code: 'BAD_OPTION', text })))
        claimed.push({ kind: 'skill', name })
      }
    }
  }
  return { skills: [...skills.values()], mistakes, warnings, claimed }
}

function pathOf(folder: string): string {
  return /^file:/i.test(folder) ? fileURLToPath(folder) : folder
}

/** The names of its folders, in order. */
async function skillsIn(folder: string, title: string, mistakes: Mistake[]): Promise<readonly string[]> {
  const refuse = (text: string): readonly string[] => {
    mistakes.push({ code: 'BAD_OPTION', text: `fromSkills(${JSON.stringify(title)}): ${text}` })
    return []
  }
  const path = pathOf(folder)
  if (!isAbsolute(path)) return refuse("give new URL('./skills', import.meta.url) or an absolute path")
  const found = await stat(path).catch(() => undefined)
  if (!found?.isDirectory()) return refuse('there is no such folder')
  const entries = await readdir(path, { withFileTypes: true })
  return entries
    .filter((entry) => !entry.name.startsWith('.') && (entry.isDirectory() || entry.isSymbolicLink()))
    .map(({ name }) => name)
    .sort()
}

interface SkillPlace {
  readonly path: string
  readonly name: string
  readonly at: string
  readonly warnings: string[]
}

type SkillOrTexts = { readonly skill: Skill } | { readonly texts: readonly string[] }

async function readSkill(place: SkillPlace): Promise<SkillOrTexts> {
  const { path, at } = place
  try {
    if ((await lstat(path)).isSymbolicLink())
      throw new SkillMistake(at, 'it is a link; copy the skill here, or name the folder that it is in with fromSkills')
    const files = await filesOf(path, at)
    const text = files.get('SKILL.md')
    files.delete('SKILL.md')
    if (!text) throw new SkillMistake(at, 'it has no SKILL.md; every folder here is a skill')
    return await toSkill(place, text, files)
  } catch (thrown) {
    if (thrown instanceof SkillMistake) return { texts: [`${thrown.at}: ${thrown.message}`] }
    throw thrown
  }
}

const ignored = /^(?:\.|__pycache__$|node_modules$)|\.pyc$/

/** All files by their path from the folder, in order of path. */
async function filesOf(folder: string, at: string): Promise<Map<string, Uint8Array>> {
  const root = await realpath(folder)
  const files = new Map<string, Uint8Array>()
  let bytes = 0
  const visit = async (inside: string): Promise<void> => {
    const names = (await readdir(join(root, inside))).filter((name) => !ignored.test(name)).sort()
    for (const name of names) {
      const path = inside === '' ? name : `${inside}/${name}`
      const real = await inRoot(root, path, at)
      const { size, isFile, isDirectory } = await kindOf(real)
      if (isDirectory && real === join(root, path)) await visit(path)
      if (!isFile) continue
      const limit = path === 'SKILL.md' ? most.skillBytes : most.fileBytes
      if (size > limit) throw new SkillMistake(`${at}/${path}`, `it has ${size} bytes; ${limit} is the limit`)
      bytes += size
      if (bytes > most.bytes || files.size >= most.files)
        throw new SkillMistake(at, `a skill has at most ${most.files} files and ${most.bytes} bytes, and this has more`)
      files.set(path, await readFile(real))
    }
  }
  await visit('')
  return files
}

async function kindOf(path: string) {
  const found = await stat(path)
  return { size: found.size, isFile: found.isFile(), isDirectory: found.isDirectory() }
}

async function inRoot(root: string, path: string, at: string): Promise<string> {
  const real = await realpath(join(root, path)).catch(() => undefined)
  if (real === undefined) throw new SkillMistake(`${at}/${path}`, 'it is a link that leads nowhere')
  if (!real.startsWith(`${root}${sep}`))
    throw new SkillMistake(`${at}/${path}`, 'it is a link that leads out of the skill; put the file itself there')
  return real
}

// ── SKILL.md ──

const nameRule = 'a name is lowercase letters and digits, in parts with one "-" between them, 64 characters at most'

const fieldsOfSkill = z.object({
  name: z
    .string('it needs one')
    .max(64, nameRule)
    .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, nameRule),
  description: z
    .string('it needs one: what the skill does, and when to use it')
    .trim()
    .min(1, 'it is empty; say what the skill does, and when to use it')
    .max(1024, 'it is longer than 1024 characters'),
  license: z.string('must be a text').optional(),
  compatibility: z
    .string('must be a text')
    .min(1, 'it is empty')
    .max(500, 'it is longer than 500 characters')
    .optional(),
  metadata: z.record(z.string(), z.string('must be a text'), 'must be fields with texts').optional(),
  'allowed-tools': z.union([z.string(), z.array(z.string())], 'must be names, with spaces between them').optional(),
})

const known = Object.keys(fieldsOfSkill.shape)

async function toSkill(
  { name, at, warnings }: SkillPlace,
  bytes: Uint8Array,
  files: ReadonlyMap<string, Uint8Array>,
): Promise<SkillOrTexts> {
  const file = `${at}/SKILL.md`
  const parsed = await parseFrontMatter(bytes, { scalars: 'text' })
  if ('mistakes' in parsed) return { texts: parsed.mistakes.map(({ line, text }) => `${file}:${line}: ${text}`) }
  const { fields, body, bodyLine, lineOf } = parsed
  const checked = fieldsOfSkill.safeParse(fields)
  const texts = (checked.error?.issues ?? []).map(
    ({ path, message }) => `${file}:${lineOf(path)}: ${path.join('.')}: ${message}${misspelt(fields, path[0])}`,
  )
  if (checked.success && checked.data.name !== name)
    texts.push(`${file}:${lineOf(['name'])}: name: it is "${checked.data.name}", and its folder "${name}"; rename one`)
  if (body === '') texts.push(`${file}:${bodyLine}: it has no instructions below its front matter`)
  if (!checked.success || texts.length > 0) return { texts }
  for (const field of Object.keys(fields).filter((each) => !known.includes(each)))
    warnings.push(`${file}:${lineOf([field])}: ${field} is no field of the format; it is left out (see metadata)`)
  const { description, license, compatibility, metadata, 'allowed-tools': tools } = checked.data
  const allowedTools = tools === undefined ? undefined : splitNames(tools)
  return { skill: { name, description, body, files, ...defined({ license, compatibility, metadata, allowedTools }) } }
}

/** `; did you mean descripton?` of a field that is missing. */
function misspelt(fields: object, missing: PropertyKey | undefined): string {
  if (typeof missing !== 'string' || missing in fields || !isObject(fields)) return ''
  const strange = Object.keys(fields).filter((field) => !known.includes(field))
  const found = strange.find((field) => nearest(field, [missing]) !== undefined)
  return found === undefined ? '' : ` (there is ${found}, which is no field)`
}
