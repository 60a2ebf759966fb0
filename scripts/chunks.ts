/**
 * A step of a build: the modules of `dist` in few files, `dist/lib`. Finding, reading and linking a module takes a
 * process longer than running it, and a host needs four hundred.
 *
 * - Every door, command and module that is found by its name stays at its path, and is one line that leads to `lib`.
 * - What was imported later is imported later: esbuild makes a chunk of it. What is surely in memory by then does not
 *   count (chunk-groups.ts): without that, every pair of entries would have a file of what only the two share.
 * - The outline of the machine is data in a build: making the machine takes a process longer than all of its moves.
 * - A module sees the location that it had (`import.meta.url`): workers and the page are found by it.
 * - With `--alone` the modules that are in `lib` now are removed: nothing of the package leads to them.
 */
import { existsSync } from 'node:fs'
import { chmod, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { BuildOptions, Plugin } from 'esbuild'
import { threadMachineOutline } from '../actors/thread/machine-outline.js'
import { loadedBefore } from './chunk-groups.js'
import { byNames } from './zod-names.js'

const dist = fileURLToPath(new URL('../dist/', import.meta.url))
const target = join(dist, 'lib')
const zones = ['src', 'actors', 'workers']

const doors = ['src/index', 'src/testing', 'src/server', 'src/client', 'src/observe', 'src/cli/main']
/** Started as processes and threads, or imported by their names (src/tools/worker-url.ts). */
const started = ['workers/thread/process', 'workers/thread/entry', 'workers/sandbox/thread', 'workers/body/invoke']

async function modulesOf(zone: string): Promise<readonly string[]> {
  const names = await readdir(join(dist, zone), { recursive: true })
  return names.filter((name) => name.endsWith('.js')).map((name) => `${zone}/${name.slice(0, -3)}`)
}

/** Bodies of tools are imported by their names, too. */
async function bodies(): Promise<readonly string[]> {
  const found = []
  for (const name of await modulesOf('workers'))
    if (/^export (?:async )?function\*? run\(/m.test(await readFile(join(dist, `${name}.js`), 'utf8'))) found.push(name)
  return found
}

const chunkOf = (entry: string): string => entry.replaceAll('/', '-')

/** All chunks are in one folder, so that a module's own location is the same from each. */
const inOneFolder = (before: ReadonlyMap<string, readonly string[]>): Plugin => ({
  name: 'in-one-folder',
  setup(building) {
    building.onLoad({ filter: /\.js$/ }, async ({ path }) => {
      const text = byNames((await readFile(path, 'utf8')).replace(/^#!.*\n/, ''))
      const name = relative(dist, path)
      const first = (before.get(name) ?? []).map((each) => `import ${JSON.stringify(join(dist, each))};\n`)
      const location = JSON.stringify(relative(target, path))
      const own = text.includes('import.meta.url')
        ? `const __module_url = new URL(${location}, __chunk_url).href;\n`
        : ''
      // Its name stands above it in the chunk.
      return { contents: `${first.join('')}//! ${name}\n${own}${text}` }
    })
    building.onResolve({ filter: /^zod$/ }, () => ({ path: '../vendor/zod.js', external: true }))
    building.onResolve({ filter: /\/vendor\/[^/]+\.js$/ }, ({ path }) => ({
      path: `../vendor/${basename(path)}`,
      external: true,
    }))
  },
})

/** Instead of the module that makes the machine to describe it. */
async function writeOutline(): Promise<void> {
  const { edges, ...rest } = threadMachineOutline
  // Nearly a thousand edges of few names: by their numbers they are a sixth of the text.
  const names = [...new Set(edges.flatMap(({ from, on, to, guard }) => [from, on, to, ...(guard ? [guard] : [])]))]
  const numbers = edges.map(({ from, on, to, guard }) =>
    [from, on, to, ...(guard ? [guard] : [])].map((name) => names.indexOf(name)),
  )
  const text = [
    `const names = ${JSON.stringify(names)}`,
    `const edges = JSON.parse('${JSON.stringify(numbers)}').map(([from, on, to, guard]) => guard === undefined`,
    `  ? { from: names[from], on: names[on], to: names[to] }`,
    `  : { from: names[from], on: names[on], guard: names[guard], to: names[to] })`,
    `export const threadMachineOutline = { ...${JSON.stringify(rest)}, edges }`,
    '',
  ].join('\n')
  await writeFile(join(dist, 'actors/thread/machine-outline.js'), text)
  await rm(join(dist, 'actors/thread/machine.js'), { force: true })
}

async function bundle(entries: readonly string[]): Promise<void> {
  await rm(target, { recursive: true, force: true })
  const options = (before: ReadonlyMap<string, readonly string[]>): BuildOptions => ({
    entryPoints: entries.map((entry) => ({ in: join(dist, `${entry}.js`), out: chunkOf(entry) })),
    outdir: target,
    absWorkingDir: dist,
    bundle: true,
    splitting: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    define: { 'import.meta.url': '__module_url' },
    banner: { js: 'const __chunk_url = import.meta.url;' },
    plugins: [inOneFolder(before)],
    // Modules are imported for being in memory, too.
    ignoreAnnotations: true,
    // A quarter less to read and to keep; names stay, and so do lines that a stack can be read by.
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 120,
    legalComments: 'inline',
    logLevel: 'error',
  })
  const { metafile } = await build({ ...options(new Map()), write: false, metafile: true })
  await build(options(loadedBefore(metafile.inputs, entries)))
}

/** What the door does: it exports all of its chunk, which runs when it is imported. */
async function leadThere(entry: string): Promise<void> {
  const file = join(dist, `${entry}.js`)
  const [first = ''] = (await readFile(file, 'utf8')).split('\n')
  const lib = relative(dirname(file), target)
  const text = await readFile(join(target, `${chunkOf(entry)}.js`), 'utf8')
  // A chunk without a module names those that have them. Its door does that itself: one file less to find and link.
  const leads = text.includes('//! ')
    ? `export * from '${lib}/${chunkOf(entry)}.js'\n`
    : text.replace(/^const __chunk_url.*\n/, '').replaceAll(/"\.\/([^"]+)"/g, `"${lib}/$1"`)
  const isProgram = first.startsWith('#!')
  await writeFile(file, `${isProgram ? `${first}\n` : ''}${leads}`)
  if (isProgram) await chmod(file, 0o755)
}

const entries = [...new Set([...doors, ...started, ...(await bodies())])]
for (const entry of entries) if (!existsSync(join(dist, `${entry}.js`))) throw new Error(`there is no ${entry}.js`)
await writeOutline()
await bundle(entries)
for (const entry of entries) await leadThere(entry)
if (process.argv.includes('--alone')) await removeModules(new Set(entries))

async function removeModules(kept: ReadonlySet<string>): Promise<void> {
  for (const zone of zones)
    for (const name of await modulesOf(zone)) if (!kept.has(name)) await rm(join(dist, `${name}.js`))
}
