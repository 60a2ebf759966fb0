/**
 * The last step of a build: packages that Skein carries in its own, so that who installs it installs none of them.
 * Each is bundled as it is published, with the licences of all that went into it, and what was built imports it from
 * there.
 *
 * - Carried is what would bring parts that nobody here uses: just-bash (an LGPL library that is compiled, 80 MB of
 *   interpreters and databases), msgpackr (a native part with an install script), the NATS client (whose parts
 *   refuse Node 20, on which they run), zod (fifty languages, which take a process longer to load than the rest of
 *   it; schemas of an app are those of its own copy), XState (seven files of CommonJS, which Node reads twice to find
 *   their exports).
 * - The sources import the packages by their names: only what is built is changed.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { BuildOptions, Plugin } from 'esbuild'
import { z } from 'zod'
import { longMessages } from './vendor-nats.js'
import { exportsOfZod, namesOfZod } from './zod-names.js'

const root = fileURLToPath(new URL('../', import.meta.url))
const target = join(root, 'dist/vendor')
const require = createRequire(import.meta.url)

/** Import → file in dist/vendor. */
const carried: Readonly<Record<string, string>> = {
  'just-bash': 'just-bash',
  'msgpackr/pack': 'msgpackr-pack',
  re2js: 're2js',
  xstate: 'xstate',
  zod: 'zod',
  '@nats-io/transport-node': 'nats-transport-node',
  '@nats-io/jetstream': 'nats-jetstream',
}

/**
 * Of these packages only what a process needs: each is read whole when it starts. The machine is data by then. Names of
 * zod are those that the modules say (zod-names.ts).
 */
const used: Readonly<Record<string, readonly string[]>> = {
  xstate: ['createActor', 'fromTransition'],
  'msgpackr/pack': ['Packr'],
}

/** Each is one file that imports nothing, so that a process has less to find. */
const alone = new Set(['msgpackr/pack', 're2js', 'xstate', 'zod'])

/** Texts of new projects import it, too: chunks.ts changes imports alone, as it reads modules. */
const inTemplates = new Set(['zod'])

/** Loaded on demand by commands that are left off, or not there: xz and zstd, and the interpreters. */
const leftOut = ['node-liblzma', '@mongodb-js/zstd', 'quickjs-emscripten', 'msgpackr-extract']

const manifestSchema = z.looseObject({
  name: z.string(),
  version: z.string(),
  license: z.string().optional(),
  dependencies: z.record(z.string(), z.string()).optional(),
})

interface Package {
  readonly folder: string
  readonly manifest: z.infer<typeof manifestSchema>
}

/** The package of this name, as seen from a folder. */
async function packageOf(name: string, from: string): Promise<Package> {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name)
    const file = join(found, 'package.json')
    if (existsSync(file))
      return { folder: found, manifest: manifestSchema.parse(JSON.parse(await readFile(file, 'utf8'))) }
  }
  throw new Error(`${name} is not installed; run npm install`)
}

/** All that goes into the bundle. */
async function packages(): Promise<readonly Package[]> {
  const found = new Map<string, Package>()
  const visit = async (name: string, from: string): Promise<void> => {
    if (leftOut.includes(name)) return
    const each = await packageOf(name, from)
    if (found.has(each.folder)) return
    found.set(each.folder, each)
    for (const dependency of Object.keys(each.manifest.dependencies ?? {})) await visit(dependency, each.folder)
  }
  for (const entry of Object.keys(carried))
    await visit(entry.startsWith('@') ? entry : (entry.split('/')[0] ?? entry), root)
  return [...found.values()].sort((a, b) => (a.manifest.name < b.manifest.name ? -1 : 1))
}

async function licenceOf({ folder, manifest: { name, version, license = 'see below' } }: Package): Promise<string> {
  const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file)).sort()
  if (/GPL/.test(license)) throw new Error(`${name} is under ${license} and cannot be carried`)
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  return [`# ${name} ${version} (${license})`, ...texts.map((text) => text.trim())].join('\n\n')
}

/**
 * CommonJS exports what it exports when it is run: the bundle of each package lists the names that Node finds in it.
 */
const byTheirNames: Plugin = {
  name: 'by-their-names',
  setup(building) {
    building.onResolve({ filter: /^carried:/ }, ({ path }) => ({
      path: path.replace('carried:', ''),
      namespace: 'carried',
    }))
    building.onLoad({ filter: /./, namespace: 'carried' }, async ({ path }) => {
      if (path === 'zod') return { contents: exportsOfZod(zodNames), resolveDir: root }
      const found: object = await import(path)
      const all = Object.keys(found).filter((name) => /^[A-Za-z_$][\w$]*$/.test(name) && name !== 'default')
      const names = used[path] ?? all
      return { contents: `export { ${names.join(', ')} } from ${JSON.stringify(path)}`, resolveDir: root }
    })
  },
}

/** Of zod's languages the one that Skein speaks. */
const oneLanguage: Plugin = {
  name: 'one-language',
  setup(building) {
    building.onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: `export { default as en } from './en.js'`,
    }))
  },
}

/**
 * On Node 20 an object that begins with a spread of functions and goes on has a hidden class of its own. The options of
 * an XState actor are one, and every live thread has them: a quarter of what its actor takes.
 */
const oneShape: Plugin = {
  name: 'one-shape',
  setup(building) {
    building.onLoad({ filter: /\/xstate\/dist\/raise-.*\.js$/ }, async ({ path }) => {
      const [before, after, ...more] = (await readFile(path, 'utf8')).split('...defaultOptions,')
      if (after === undefined || more.length > 0) throw new Error(`${path} makes options of actors in another way`)
      return { contents: `${before}syncSnapshot: undefined, ...defaultOptions,${after}` }
    })
  },
}

/**
 * zod writes and compiles a parser for a schema before it first parses with it, which takes as long as a few hundred
 * parses without one. A process that has just started parses with most schemas a few times.
 */
const parsesBefore = 16

const compiledLater: Plugin = {
  name: 'compiled-later',
  setup(building) {
    building.onLoad({ filter: /\/zod\/v4\/core\/schemas\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const [before, between, after, ...more] = text.split(/let fastpass;|(?<=ctx\.jitless !== true)\) \{/)
      if (between === undefined || after === undefined || more.length > 0)
        throw new Error(`${path} compiles parsers in another way`)
      const isDue = `(fastpass || ++timesParsed > ${parsesBefore})`
      return { contents: `${before}let fastpass, timesParsed = 0;${between} && ${isDue}) {${after}` }
    })
  },
}

const options: BuildOptions = {
  outdir: target,
  absWorkingDir: root,
  bundle: true,
  minifySyntax: true,
  minifyWhitespace: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external: leftOut,
  plugins: [byTheirNames, oneLanguage, oneShape, longMessages, compiledLater],
  logLevel: 'error',
}

async function bundle(all: readonly Package[]): Promise<void> {
  await rm(target, { recursive: true, force: true })
  await mkdir(target, { recursive: true })
  const shell = join(root, 'node_modules/just-bash/dist/bundle/chunks')
  const entries = Object.entries(carried).map(([from, out]) => ({ from, in: `carried:${from}`, out }))
  await build({ ...options, entryPoints: entries.filter(({ from }) => alone.has(from)).map(inAndOut) })
  await build({
    ...options,
    // A command of the shell finds its worker beside itself.
    entryPoints: [
      ...entries.filter(({ from }) => !alone.has(from)).map(inAndOut),
      { in: join(shell, 'sqlite3-worker.js'), out: 'sqlite3-worker' },
    ],
    chunkNames: '[name]-[hash]',
    splitting: true,
    banner: {
      js:
        `import { createRequire as __carried } from 'node:module'; const require = __carried(import.meta.url); ` +
        `const __filename = import.meta.filename; const __dirname = import.meta.dirname;`,
    },
  })
  await copyFile(join(dirname(require.resolve('sql.js')), 'sql-wasm.wasm'), join(target, 'sql-wasm.wasm'))
  const texts = await Promise.all(all.map(licenceOf))
  await writeFile(
    join(target, 'LICENSES.txt'),
    `Skein carries these packages, unchanged, in bundles.\n\n${texts.join('\n\n')}\n`,
  )
}

function inAndOut(entry: { readonly in: string; readonly out: string }): { in: string; out: string } {
  return { in: entry.in, out: entry.out }
}

async function redirect(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.name.endsWith('.js')) continue
    const file = join(entry.parentPath, entry.name)
    const text = await readFile(file, 'utf8')
    const changed = text.replaceAll(/(from |import\()'([^'.][^']*)'/g, (whole, before: string, name: string) => {
      const own = carried[name]
      return own === undefined || inTemplates.has(name)
        ? whole
        : `${before}'${relative(dirname(file), join(target, `${own}.js`))}'`
    })
    if (changed !== text) await writeFile(file, changed)
  }
}

const all = await packages()
const zodNames = await namesOfZod(join(root, 'dist'))
const stamp = createHash('sha256')
  .update(
    JSON.stringify([
      carried,
      leftOut,
      exportsOfZod(zodNames),
      all.map(({ manifest }) => [manifest.name, manifest.version]),
    ]),
  )
  .update(await readFile(fileURLToPath(import.meta.url)))
  .update(await readFile(fileURLToPath(new URL('./vendor-nats.ts', import.meta.url))))
  .digest('hex')
const stampFile = join(root, 'dist/vendor.stamp')
if (!existsSync(target) || !existsSync(stampFile) || (await readFile(stampFile, 'utf8')) !== stamp) {
  await bundle(all)
  await writeFile(stampFile, stamp)
}
for (const folder of ['src', 'workers', 'actors']) await redirect(join(root, 'dist', folder))
