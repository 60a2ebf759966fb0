/**
 * Projects of a user, made in empty folders outside this one: what is installed there is the packed tarball and
 * nothing else.
 *
 * - Nothing of this checkout is reached from such a project: neither its sources nor its node_modules.
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const root = fileURLToPath(new URL('../../', import.meta.url))

export interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end; its exit code is an answer. */
export async function run(folder: string, command: string, args: readonly string[]): Promise<Said> {
  try {
    const { stdout, stderr } = await promisify(execFile)(command, [...args], {
      cwd: folder,
      maxBuffer: 64 * 1024 * 1024,
      env: userEnv(),
    })
    return { code: 0, stdout, stderr }
  } catch (thrown) {
    const { code, stdout, stderr } = thrown as {
      readonly code?: unknown
      readonly stdout?: string
      readonly stderr?: string
    }
    if (typeof code !== 'number') throw thrown
    return { code, stdout: stdout ?? '', stderr: stderr ?? '' }
  }
}

/** As a user's shell has it: nothing that npm told the script which runs this. */
function userEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|VITEST|NODE_ENV$|NODE_OPTIONS$)/.test(name)),
  )
}

/** The same, where only success will do. */
export async function mustRun(folder: string, command: string, args: readonly string[]): Promise<Said> {
  const said = await run(folder, command, args)
  if (said.code === 0) return said
  throw new Error(`${[command, ...args].join(' ')} ended with ${said.code} in ${folder}:\n${said.stdout}${said.stderr}`)
}

/** The tarball that would be published, of what is built now. */
export async function pack(into: string): Promise<string> {
  const { stdout } = await mustRun(root, 'npm', ['pack', '--ignore-scripts', '--pack-destination', into])
  return join(into, stdout.trim().split('\n').at(-1) ?? '')
}

/** A folder that is empty, and gone afterwards. */
export async function emptyFolder(): Promise<{ readonly folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'skein-install-'))
  return { folder, remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }) }
}

export async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}

/** The program under "Use it" in the README. */
export async function readmeExample(): Promise<string> {
  const [, code] = /## Use it\n[\s\S]*?```ts\n([\s\S]*?)```/.exec(await readFile(join(root, 'README.md'), 'utf8')) ?? []
  if (code === undefined) throw new Error('README.md has no program under "Use it"')
  return code
}

/** What the compiler says of these files, which it puts into `out`. */
export async function typeErrors(folder: string, { files, tsc, libraries }: Compiled): Promise<string> {
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    strict: true,
    skipLibCheck: !libraries,
    types: ['node'],
    outDir: 'out',
  }
  await writeFiles(folder, { 'tsconfig.check.json': JSON.stringify({ compilerOptions, files }) })
  return (await run(folder, process.execPath, [tsc, '-p', 'tsconfig.check.json'])).stdout
}

interface Compiled {
  readonly files: readonly string[]
  /** Its script. */
  readonly tsc: string
  readonly libraries: boolean
}
