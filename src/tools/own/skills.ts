/**
 * The tools by which a model reads skills (E2). They are made with the app, because they close over its skills, and
 * run on the host: a worker need not know them.
 *
 * - A path is looked up among the files that were read with the app: nothing else can be reached with it.
 * - A skill of another version of the app is an error result, with the skills that there are.
 */
import { posix } from 'node:path'
import { z } from 'zod'
import type { ToolDefinition, ToolState } from '../../agent/define.js'
import { nearest } from '../../core/mistakes/nearest.js'
import { loadedText } from '../../agent/skills.js'
import type { Skill } from '../../agent/skills.js'
import { SkeinError } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import { lazy } from '../../core/schema.js'
import { runBody } from './body.js'
import { bodyTimeoutMs, pathChars } from './limits.js'
import { defineOwnTool } from './own-tool.js'

type Skills = ReadonlyMap<string, Skill>

const skillName = lazy(() => z.string().min(1).max(200))

const nameArgs = lazy(() => z.object({ name: skillName().describe('The name of the skill.') }))

const fileArgs = lazy(() =>
  z.object({
    skill: skillName().describe('The name of the skill.'),
    path: z.string().min(1).max(pathChars).describe('A path that the skill names, from its own folder.'),
    offset: z.number().int().min(1).optional().describe('The first line, from 1.'),
    limit: z.number().int().min(1).optional().describe('How many lines.'),
    saveAs: z
      .string()
      .startsWith('/')
      .max(pathChars)
      .optional()
      .describe('Instead of reading it: copies the whole file to this path among your own files.'),
  }),
)

export const skillToolNames = ['load_skill', 'read_skill_file'] as const

export function createSkillTools(skills: Skills): readonly ToolDefinition[] {
  return [
    defineOwnTool({
      name: skillToolNames[0],
      description: 'Gives the instructions of a skill, and the names of its files.',
      args: nameArgs,
      sideEffect: false,
      where: 'host',
      // Instructions that the model follows for the rest of the work.
      retention: 'keep',
      execute: (_state, { name }) => loadedText(skillNamed(skills, name)),
    }),
    defineOwnTool({
      name: skillToolNames[1],
      description:
        'Reads a file of a skill: a reference, a script, a template. Of a text over 200 KB ask for some lines with ' +
        'offset and limit. With saveAs it is copied to your own files instead, where your tools can use it.',
      args: fileArgs,
      sideEffect: false,
      where: 'host',
      timeoutMs: bodyTimeoutMs,
      execute: (state, args) => readFile(state, skillNamed(skills, args.skill), args),
    }),
  ]
}

function skillNamed(skills: Skills, name: string): Skill {
  const skill = skills.get(name)
  if (!skill) throw unknownSkill(name, [...skills.keys()])
  return skill
}

/** Why a call may not read its skill: the prompt of its caller has only these. Undefined for any other tool. */
export function skillRefusal(tool: string, args: Json, known: readonly string[]): SkeinError | undefined {
  if (!skillToolNames.some((name) => name === tool) || !isObject(args)) return undefined
  const name = args['name'] ?? args['skill']
  return typeof name === 'string' && !known.includes(name) ? unknownSkill(name, known) : undefined
}

function unknownSkill(name: string, known: readonly string[]): SkeinError {
  const meant = nearest(name, known)
  return new SkeinError(
    'TOOL_INPUT_INVALID',
    `there is no skill ${JSON.stringify(name)} here; ${meant === undefined ? '' : `did you mean ${meant}? `}` +
      `there are: ${known.join(', ') || 'none'}`,
  )
}

async function readFile(state: ToolState, skill: Skill, args: z.output<ReturnType<typeof fileArgs>>): Promise<unknown> {
  const path = posix.normalize(args.path)
  if (path === '..' || path.startsWith('../') || path.startsWith('/'))
    throw new SkeinError(
      'TOOL_PATH_ESCAPE',
      `${JSON.stringify(args.path)} is not below the folder of ${skill.name}; a path is like scripts/fill.py`,
    )
  const content = path === 'SKILL.md' ? undefined : skill.files.get(path)
  if (!content) throw noFile(skill, path)
  return runBody('builtins/skill-file', state, { ...args, path: `${skill.name}/${path}`, content })
}

function noFile({ name, files }: Skill, path: string): SkeinError {
  const known = [...files.keys()]
  if (path === 'SKILL.md')
    return new SkeinError('TOOL_INPUT_INVALID', `load_skill gives the SKILL.md of ${name}, not read_skill_file`)
  const meant = nearest(path, known) ?? known.find((each) => each.endsWith(`/${path}`))
  return new SkeinError(
    'TOOL_PATH_INVALID',
    `${name} has no file ${JSON.stringify(path)}; ${meant === undefined ? '' : `did you mean ${meant}? `}` +
      `there are: ${known.slice(0, 50).join(', ') || 'none'}${known.length > 50 ? ', …' : ''}`,
  )
}
