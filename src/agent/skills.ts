/**
 * Agent Skills: folders with a SKILL.md, in the open format. A skill is content of the app, read when the app is
 * loaded and unchanged while it runs; no thread can add or change one.
 *
 * - The prompt has the name and the description of each, in the order of names and with their markup escaped, so that
 *   the bytes of a prompt depend on the app alone and a description cannot end its own place.
 */
import { defined } from '../core/defined.js'
import type { Definitions } from './app.js'
import type { PromptDefinition } from './define.js'

export interface Skill {
  readonly name: string
  /** What it is for and when to use it. */
  readonly description: string
  readonly license?: string
  readonly compatibility?: string
  readonly metadata?: Readonly<Record<string, string>>
  /** Names of tools as its author wrote them; they grant nothing. */
  readonly allowedTools?: readonly string[]
  /** The text below its front matter. */
  readonly body: string
  /** All other files, by their path from its folder, in order of path. */
  readonly files: ReadonlyMap<string, Uint8Array>
}

/** A folder whose folders are skills. Plain data: it is read by the host when the app is loaded. */
export interface SkillsetDefinition {
  readonly kind: 'skillset'
  /** The folder, as a path or as a URL that begins with `file:`. */
  readonly name: string
}

/** The skills in this folder: a URL (`new URL('./skills', import.meta.url)`) or an absolute path. */
export function fromSkills(folder: string | URL): SkillsetDefinition {
  return { kind: 'skillset', name: String(folder) }
}

/** The skills that a prompt may use, in the order of their names. */
export function skillsOf(
  { skills }: Pick<Definitions, 'skills'>,
  { skills: wanted = false }: Pick<PromptDefinition, 'skills'>,
): readonly Skill[] {
  const names = typeof wanted === 'boolean' ? undefined : new Set<string>(wanted)
  if (wanted === false) return []
  return [...skills.values()]
    .filter(({ name }) => names?.has(name) ?? true)
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}

const introduction =
  'Each of these skills is a set of instructions for a kind of task. When a task fits the description of one, call ' +
  'load_skill with its name before you begin, and follow what it says. Load only what the task needs.'

/** The end of a system prompt. */
export function skillsText(skills: readonly Skill[]): string {
  const entries = skills.map(({ name, description }) => `<skill name="${name}">${escaped(description)}</skill>`)
  return `\n\n<skills>\n${[introduction, ...entries].join('\n')}\n</skills>`
}

/** On one line, without markup. */
function escaped(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const mostFiles = 200

/** What the model reads of a skill that it loads. */
export function loadedText({ name, body, files, compatibility, allowedTools }: Skill): string {
  const listed = [...files].slice(0, mostFiles).map(([path, bytes]) => `${path} (${bytes.length} bytes)`)
  const more = files.size > mostFiles ? [`… and ${files.size - mostFiles} more`] : []
  const notes = defined({
    Requires: compatibility,
    'Written for the tools':
      allowedTools && `${allowedTools.join(', ')}. Use no others for it; those that you are not offered are not here`,
  })
  return [
    `<skill name="${name}">\n${body}\n</skill>`,
    ...Object.entries(notes).map(([title, text]) => `${title}: ${String(text)}`),
    ...(files.size > 0 ? ['Its files, for read_skill_file:', ...listed, ...more] : []),
  ].join('\n')
}
