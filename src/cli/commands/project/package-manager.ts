/**
 * Package managers: which one is used, what its commands are, and whether a folder belongs to a workspace, whose root
 * has the lockfile.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { z } from 'zod'

export const packageManagers = ['npm', 'pnpm', 'bun'] as const

export type PackageManager = (typeof packageManagers)[number]

/** As `npx`, `pnpm dlx` and `bunx` say in the environment; npm where nobody does. */
export function managerOf(userAgent = ''): PackageManager {
  return packageManagers.find((name) => userAgent.startsWith(`${name}/`)) ?? 'npm'
}

export interface ManagerCommands {
  readonly install: string
  run(script: string): string
}

/** `member`: the name of a package of a workspace, whose commands are given at the root. */
export function managerCommands(manager: PackageManager, member?: string): ManagerCommands {
  const install = `${manager} install`
  switch (manager) {
    case 'npm':
      return { install, run: (script) => withMember(npmScript(script), member === undefined ? '' : ` -w ${member}`) }
    case 'pnpm':
      return { install, run: (script) => `pnpm ${member === undefined ? '' : `--filter ${member} `}${script}` }
    case 'bun':
      return { install, run: (script) => `bun run ${member === undefined ? '' : `--filter ${member} `}${script}` }
  }
}

const withMember = (command: string, flag: string): string => `${command}${flag}`

/** `start` and `test` have commands of their own. */
function npmScript(script: string): string {
  return ['start', 'test'].includes(script) ? `npm ${script}` : `npm run ${script}`
}

export interface Workspace {
  readonly root: string
  /** The file that lists its packages. */
  readonly file: string
  /** Whether the folder is one of them. */
  readonly hasFolder: boolean
}

const manifestSchema = z.object({
  workspaces: z.union([z.array(z.string()), z.object({ packages: z.array(z.string()) })]).optional(),
})

/** The workspace above the folder, if there is one. */
export function workspaceAbove(folder: string): Workspace | undefined {
  for (let root = dirname(folder); ; root = dirname(root)) {
    const found = patternsIn(root)
    const path = relative(root, folder).replaceAll('\\', '/')
    if (found) return { root, file: found.file, hasFolder: matches(path, found.patterns) }
    if (root === dirname(root)) return undefined
  }
}

function patternsIn(root: string): { readonly file: string; readonly patterns: readonly string[] } | undefined {
  const ofPnpm = join(root, 'pnpm-workspace.yaml')
  if (existsSync(ofPnpm)) {
    // A list of strings below `packages:`; anything else in the file is of no interest here.
    const [, list = ''] =
      /^packages:\s*\n((?:[ \t]*-.*\n?|[ \t]*#.*\n?|\s*\n)*)/m.exec(readFileSync(ofPnpm, 'utf8')) ?? []
    const patterns = [...list.matchAll(/^[ \t]*-\s*['"]?([^'"\s#]+)/gm)].map(([, pattern = '']) => pattern)
    return patterns.length > 0 ? { file: ofPnpm, patterns } : undefined
  }
  const file = join(root, 'package.json')
  if (!existsSync(file)) return undefined
  const workspaces = readWorkspaces(file)
  const patterns = workspaces && ('packages' in workspaces ? workspaces.packages : workspaces)
  return patterns && { file, patterns }
}

/** A package.json that cannot be read is none of a workspace; its own tools will say so. */
function readWorkspaces(file: string): z.infer<typeof manifestSchema>['workspaces'] {
  try {
    return manifestSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).workspaces
  } catch {
    return undefined
  }
}

function matches(path: string, patterns: readonly string[]): boolean {
  const isMeant = (pattern: string): boolean => globOf(pattern.replace(/^!/, '')).test(path)
  const included = patterns.filter((pattern) => !pattern.startsWith('!')).some(isMeant)
  return included && !patterns.filter((pattern) => pattern.startsWith('!')).some(isMeant)
}

/** Workspaces are listed by `*`, `**` and names. */
function globOf(pattern: string): RegExp {
  const source = pattern
    .replace(/^\.\//, '')
    .replace(/\/$/, '')
    .split(/(\*\*|\*)/)
    .map((part) => {
      if (part === '**') return '.+'
      return part === '*' ? '[^/]+' : part.replace(/[.+?^$(){}|[\]\\]/g, '\\$&')
    })
  return new RegExp(`^${source.join('')}$`)
}
