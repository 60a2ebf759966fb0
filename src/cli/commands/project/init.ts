/**
 * `skein init`: makes a project that runs at once, offline. It writes files and installs nothing.
 *
 * - No file is replaced, and nothing is written if one of them is there already, or an `app` folder.
 * - In a workspace the commands that it prints are those of the root: the lockfile is there.
 */
import { lstatSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { counted, shellWord } from '../../format.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { managerCommands, managerOf, packageManagers, workspaceAbove } from './package-manager.js'
import type { PackageManager, Workspace } from './package-manager.js'
import { dependencies, devDependencies, projectFiles } from './templates.js'

interface InitFlags {
  readonly name?: string
  readonly pm?: string
}

interface InitRequest extends InitFlags {
  readonly folder: string
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('[folder]', 'where to make it', '.')
    .option('--name <name>', 'name of the package (default: that of the folder)')
    .option('--pm <name>', `${packageManagers.join(', ')} (default: the one that runs this, else npm)`)
    .action((folder: string, flags: InitFlags) => runCommand(command, (context) => init(context, { ...flags, folder })))
}

async function init(context: CommandContext, { folder, ...flags }: InitRequest): Promise<ExitCode> {
  const { SkeinError } = await import('../../../index.js')
  const refuse = (text: string): never => {
    throw new SkeinError('BAD_OPTION', text)
  }
  const at = resolve(folder)
  const manager = flags.pm === undefined ? managerOf(context.shell.env['npm_config_user_agent']) : toManager(flags.pm)
  if (!manager) return refuse(`--pm ${flags.pm}: the package managers that are known are ${packageManagers.join(', ')}`)
  const name = flags.name ?? basename(at)
  const wrong = nameMistake(name)
  if (wrong !== undefined)
    return refuse(`"${name}" ${wrong}; ${flags.name === undefined ? 'name the package with --name' : 'choose another'}`)
  const workspace = workspaceAbove(at)
  const files = projectFiles({ name, manager, isMember: workspace !== undefined, version: skeinVersion() })
  const there = inTheWay(at, Object.keys(files))
  if (there.length > 0)
    return refuse(`${at} has ${there.join(', ')} already, and nothing is replaced; take an empty folder`)
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(at, path)), { recursive: true })
    // Whoever writes the same file at this moment wins.
    await writeFile(join(at, path), text, { flag: 'wx' })
  }
  tell(context, { at, name, manager, workspace, files: Object.keys(files) })
  return exitCode.ok
}

function toManager(name: string): PackageManager | undefined {
  return packageManagers.find((known) => known === name)
}

function skeinVersion(): string {
  const manifest: { version: string } = createRequire(import.meta.url)('skein/package.json')
  return manifest.version
}

const longestName = 214

/** What package managers refuse in a name. */
function nameMistake(name: string): string | undefined {
  if (name.length > longestName) return `has more than ${longestName} characters`
  if (!/^(?:@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/.test(name))
    return 'is no name for a package: lower-case letters, digits, - . _ and ~, and no dot or _ at the beginning'
  if (['node_modules', 'favicon.ico'].includes(name)) return 'may not be the name of a package'
  if (['skein', ...Object.keys(dependencies), ...Object.keys(devDependencies)].includes(name))
    return 'is a package that the project depends on'
  return undefined
}

/** What of these is there, and an `app`, whose files would become part of it. */
function inTheWay(folder: string, paths: readonly string[]): readonly string[] {
  const isThere = (path: string): boolean => lstatSync(join(folder, path), { throwIfNoEntry: false }) !== undefined
  const at = lstatSync(folder, { throwIfNoEntry: false })
  if (at && !at.isDirectory() && !at.isSymbolicLink()) return ['a file of that name']
  const own = paths.filter((path) => !path.startsWith('app/') && isThere(path))
  return [...own, ...(isThere('app') ? ['app'] : [])]
}

interface Made {
  readonly at: string
  readonly name: string
  readonly manager: PackageManager
  readonly workspace: Workspace | undefined
  readonly files: readonly string[]
}

function tell({ out }: CommandContext, { at, name, manager, workspace, files }: Made): void {
  const commands = managerCommands(manager, workspace && name)
  const from = relative('.', workspace?.root ?? at)
  const steps: readonly (readonly [string, string])[] = [
    ...(from === '' ? [] : [[`cd ${shellWord(from)}`, ''] as const]),
    [commands.install, ''],
    [commands.run('start'), 'one question, offline'],
    [commands.run('test'), 'while hosts die and models fail'],
    [commands.run('dev'), 'serve it, and every edit at once'],
    [`OPENAI_API_KEY=… ${commands.run('start')}`, 'with a real model'],
  ]
  const width = Math.max(...steps.map(([command]) => command.length))
  const lines = steps.map(([command, what]) => `  ${what === '' ? command : `${command.padEnd(width)}  # ${what}`}\n`)
  if (out.mode === 'json') out.json({ folder: at, name, files, commands: steps.map(([command]) => command) })
  else out.print(`made ${name} in ${relative('.', at) || '.'}: ${counted(files.length, 'file')}\n\n${lines.join('')}`)
  if (workspace && !workspace.hasFolder) {
    const path = relative(workspace.root, at)
    out.note(`the workspace does not have it yet: first add ${shellWord(path)} to the packages in ${workspace.file}`, {
      workspace: workspace.file,
      path,
    })
  }
}
