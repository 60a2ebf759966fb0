/**
 * What must hold in a project that installed the tarball.
 */
import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { complaintsIn, declaration, linesOf, mentions } from '../helpers/named-app.js'
import { mustRun, readmeExample, root, run, typeErrors, writeFiles } from './project.js'

export interface Project {
  readonly folder: string
}

function expectEqual(found: string, wanted: string, what: string): void {
  if (found !== wanted) throw new Error(`${what}: wanted ${JSON.stringify(wanted)}, found ${JSON.stringify(found)}`)
}

function expectMatch(found: string, wanted: RegExp, what: string): void {
  if (!wanted.test(found)) throw new Error(`${what}: wanted ${wanted}, found ${found}`)
}

interface Compiler {
  /** Its script. Default: that of the project. */
  readonly tsc?: string
  /** Whether it looks at declarations, too. */
  readonly libraries?: boolean
}

/**
 * The README's program, and one that meets every public type with two copies of zod (D8, E7), compile; what the first
 * one says.
 */
export async function checkPrograms(
  { folder }: Project,
  { tsc = join(folder, 'node_modules/typescript/bin/tsc'), libraries = false }: Compiler = {},
): Promise<string> {
  await writeFiles(folder, {
    'main.ts': await readmeExample(),
    'user.ts': await readFile(join(root, 'test/types/fixtures/user.ts'), 'utf8'),
  })
  expectEqual(await typeErrors(folder, { files: ['main.ts', 'user.ts'], tsc, libraries }), '', 'the compiler')
  await writeFiles(folder, { 'names.ts': mentions, 'skein.d.ts': declaration })
  const wrong = await typeErrors(folder, { files: ['names.ts', 'skein.d.ts'], tsc, libraries })
  expectEqual(complaintsIn(wrong).join(), linesOf(mentions, '// wrong').join(), 'lines with wrong names (E3)')
  const { stdout } = await mustRun(folder, process.execPath, ['out/main.js'])
  expectMatch(stdout, /^1 \+ 2 is 3\.\n[\s\S]*stopReason: 'completed'/, 'the program of the README')
  return stdout
}

/** An app in a workspace (workspace.ts) is run by the command line, its tools in workers. */
export async function checkApp({ folder }: Project): Promise<void> {
  const skein = join(folder, 'node_modules/skein/dist/src/cli/main.js')
  const { stdout } = await mustRun(folder, process.execPath, [skein, 'run', 'src/app.ts', '--agent', 'hello', 'greet'])
  expectMatch(
    stdout,
    new RegExp(`Good day grams \\S*/src/app\\.ts \\S*/src \\S*/src/app\\.ts`),
    'the app in the workspace',
  )
}

/** What `skein init` made in the folder: it answers offline, its test passes, and it compiles. */
export async function checkMade({ folder }: Project, script = ['npm', 'run']): Promise<string> {
  const [command = '', ...before] = script
  const { stdout } = await mustRun(folder, command, [...before, 'start'])
  expectMatch(stdout, /^It is 42\. \(.*OPENAI_API_KEY/m, 'the start of a new project')
  await mustRun(folder, command, [...before, 'test'])
  await mustRun(folder, command, [...before, 'types'])
  return stdout
}

/** A program with Skein in it is bundled as docs/apps.md says, and runs. */
export async function checkBundle({ folder }: Project): Promise<void> {
  await writeFiles(folder, { 'bundled.ts': await readmeExample() })
  const options = [
    '--bundle',
    '--platform=node',
    '--format=esm',
    '--external:skein',
    '--outfile=out/bundled.mjs',
    '--log-level=error',
  ]
  await mustRun(folder, join(folder, 'node_modules/.bin/esbuild'), ['bundled.ts', ...options])
  const { stdout } = await mustRun(folder, process.execPath, ['out/bundled.mjs'])
  expectMatch(stdout, /1 \+ 2 is 3\./, 'the bundled program')
}

interface Measured {
  readonly packages: number
  readonly megabytes: number
  readonly seconds: number
}

/** Installs without a warning, without a compiler and with install scripts blocked (E7), and says what that costs. */
export async function measure(folder: string, packages: readonly string[]): Promise<Measured> {
  await writeFiles(folder, {
    'package.json': JSON.stringify({ name: 'user', version: '1.0.0', private: true, type: 'module' }),
  })
  const began = Date.now()
  const { stderr } = await mustRun(folder, 'npm', [
    'install',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    ...packages,
  ])
  const seconds = Math.round((Date.now() - began) / 1000)
  // What the machine's own settings are warned of is not ours.
  expectEqual(
    stderr
      .split('\n')
      .filter((line) => line.includes('warn') && !/Unknown (user|env|project) config/.test(line))
      .join('\n'),
    '',
    'what npm warned of',
  )
  const lock = JSON.parse(await readFile(join(folder, 'node_modules/.package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly license?: string; readonly hasInstallScript?: boolean }>>
  }
  const installed = Object.entries(lock.packages)
  expectEqual(
    installed.flatMap(([name, { license = '' }]) => (/GPL/.test(license) ? [`${name}: ${license}`] : [])).join(', '),
    '',
    'what is under a copyleft licence',
  )
  expectEqual(
    installed.flatMap(([name, { hasInstallScript }]) => (hasInstallScript ? [name] : [])).join(', '),
    'node_modules/esbuild',
    'what has an install script',
  )
  await checkModules(join(folder, 'node_modules/skein/dist'))
  const { stdout } = await run(folder, process.execPath, [
    join(folder, 'node_modules/skein/dist/src/cli/main.js'),
    '--help',
  ])
  expectMatch(stdout, /Usage: skein/, 'the command line')
  return {
    packages: installed.length,
    megabytes: Math.round((await bytesIn(join(folder, 'node_modules'))) / 2 ** 20),
    seconds,
  }
}

/**
 * Every module of the package finds what it imports; those that begin to work when they are imported are left out,
 * and so is the page, which is for browsers and has tests of its own there.
 */
async function checkModules(dist: string): Promise<void> {
  const entries = await readdir(dist, { withFileTypes: true, recursive: true })
  const modules = entries.flatMap((entry) =>
    entry.name.endsWith('.js') && !/vendor|dist\/page/.test(entry.parentPath)
      ? [join(entry.parentPath, entry.name)]
      : [],
  )
  const quiet = modules.filter(
    (path) =>
      !['cli/main.js', 'thread/process.js', 'sandbox/thread.js'].some(
        (begins) => path.endsWith(begins) || path.endsWith(`-${begins.replace('/', '-')}`),
      ),
  )
  const program = `for (const path of ${JSON.stringify(quiet)}) await import(path)`
  await mustRun(dist, process.execPath, ['--input-type=module', '--eval', program])
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true })
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
