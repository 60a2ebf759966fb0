/** `skein types`: writes the names of an app into a declaration, so that the compiler knows a wrong one. */
import { readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import type { CommandContext, RunCommand } from '../../run-command.js'

interface Flags {
  readonly check?: boolean
  readonly out?: string
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('[app]', 'folder or module of the definitions', 'app')
    .option('--check', 'write nothing; exit 1 if the file is missing or has other names')
    .option('--out <file>', 'the file (default: skein.d.ts in the folder of the app)')
    .action((app: string, flags: Flags) => runCommand(command, (context) => write(context, app, flags)))
}

async function write({ out }: CommandContext, app: string, { check = false, out: named }: Flags): Promise<ExitCode> {
  const { SkeinError, appTypes } = await import('../../../index.js')
  const text = await appTypes(app)
  const file = named ?? join(await folderOf(app), 'skein.d.ts')
  const before = await readFile(file, 'utf8').catch(() => undefined)
  const names = namesIn(text)
  const stale = before === undefined || namesIn(before).join() !== names.join()
  if (!check && stale) {
    await writeFile(file, text).catch((thrown: unknown) => {
      throw new SkeinError('BAD_OPTION', `${file} cannot be written: ${String(thrown)}`)
    })
  }
  const command = `skein types ${app}${named === undefined ? '' : ` --out ${named}`}`
  const found = { file, names: names.length, stale }
  if (check && stale)
    out.complain(`${file} is ${before === undefined ? 'not there' : 'stale'}: ${command} writes it`, found)
  else if (out.mode === 'json') out.json(found)
  else out.print(`${file} has the ${names.length} names of the app${stale ? ' now' : ''}\n`)
  return check && stale ? exitCode.failed : exitCode.ok
}

async function folderOf(app: string): Promise<string> {
  return (await stat(app)).isDirectory() ? app : dirname(resolve(app))
}

/** Whatever a formatter made of the text. */
function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/["']((?:agent|model|prompt|skill|tool) [^"']+)["']/g)].map(([, name = '']) => name).sort()
}
