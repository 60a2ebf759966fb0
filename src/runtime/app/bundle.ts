/**
 * Bundles the sources of an app into one module that this process and every worker can import (esbuild, once).
 *
 * - `skein` in a bundled app is this very package, wherever the app is; other packages stay outside the bundle and
 *   are resolved from the app's own folder. The bundle can therefore be anywhere (bundle-folder.ts).
 * - A file of the app sees its own location: in `import.meta`, in `__dirname`, and in the lines of a stack.
 * - TypeScript is bundled wherever it is: behind a name of tsconfig `paths`, or in a package of the workspace.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, extname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { BuildOptions, Loader, Plugin } from 'esbuild'
import { z } from 'zod'
import { SkeinError } from '../../core/failure.js'
import { lazy } from '../../core/schema.js'
import { writeBundle } from './bundle-folder.js'

export interface BundleEntry {
  /** The app's file or folder. */
  readonly path: string
  /** Entry module in place of the file; imports the app's files by paths relative to the folder. */
  readonly text?: string
  /** Called with every path that is read or looked for, also of a bundle that then fails. */
  readonly onFile?: (path: string) => void
}

/** Returns the path of the bundle. */
export async function bundle({ path, text: entry, onFile }: BundleEntry): Promise<string> {
  const { build } = await import('esbuild')
  const start: BuildOptions =
    entry === undefined
      ? { entryPoints: [path] }
      : { stdin: { contents: entry, resolveDir: path, sourcefile: 'app.mjs', loader: 'js' } }
  const built = build({
    ...start,
    bundle: true,
    write: false,
    outfile: join(tmpdir(), 'app.mjs'),
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // As Node resolves: a package's `module` field is for bundlers.
    mainFields: ['main'],
    sourcemap: 'external',
    sourcesContent: false,
    define: ownMeta,
    banner: { js: requireOf(path) },
    logLevel: 'silent',
    plugins: [...(onFile ? [reportFiles(onFile)] : []), filesWithStars, packagesByPath, ownLocations],
  })
  const { outputFiles } = await built.catch((thrown: unknown) => Promise.reject(refusalOf(path, thrown)))
  const output = (extension: string): string => outputFiles.find((file) => file.path.endsWith(extension))?.text ?? ''
  const map = Buffer.from(withSourceUrls(output('.map') || '{}', tmpdir())).toString('base64')
  const text = `${output('.mjs')}//# sourceMappingURL=data:application/json;base64,${map}\n`
  const name = `${createHash('sha256').update(path).update(text).digest('hex').slice(0, 20)}.mjs`
  const written = await writeBundle(cacheFolder(path), { name, text })
  if (written === undefined)
    throw new SkeinError(
      'APP_NOT_LOADED',
      `the app ${path} must be bundled, and there is no place to write its bundle to; tried node_modules/.cache ` +
        `and ${tmpdir()}`,
    )
  return written
}

const failedBuild = lazy(() =>
  z.object({
    errors: z
      .array(
        z.object({
          text: z.string(),
          location: z.object({ file: z.string(), line: z.number(), column: z.number() }).nullish(),
        }),
      )
      .min(1),
  }),
)

/** What esbuild found in the app's files, each with its location. */
function refusalOf(path: string, thrown: unknown): unknown {
  const { data: failed } = failedBuild().safeParse(thrown)
  const says = failed?.errors.map(
    ({ text, location }) =>
      `${location ? `${resolve(location.file)}:${location.line}:${location.column + 1}: ` : ''}${text}`,
  )
  return says
    ? new SkeinError('APP_NOT_LOADED', `the app ${path} could not be loaded: ${says.join('\n')}`, { cause: thrown })
    : thrown
}

/** The source map names the sources by URL, so that it is valid wherever the bundle is. */
function withSourceUrls(map: string, folder: string): string {
  const parsed: unknown = JSON.parse(map)
  const { sources = [], ...rest } = z.looseObject({ sources: z.array(z.string()).optional() }).parse(parsed)
  return JSON.stringify({ ...rest, sources: sources.map((source) => pathToFileURL(resolve(folder, source)).href) })
}

/** The name of a file may have a star (`api/[*].ts`), which the bundler would take for a pattern. */
const filesWithStars: Plugin = {
  name: 'files-with-stars',
  setup(build) {
    build.onResolve({ filter: /^\.{1,2}\/.*\*/ }, ({ path, resolveDir }) => {
      const file = join(resolveDir, path)
      return existsSync(file) ? { path: file } : undefined
    })
  },
}

/** Packages stay outside the bundle and are imported by the path that they resolve to from the app. */
const packagesByPath: Plugin = {
  name: 'packages-by-path',
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, pluginData }) => {
      if (kind === 'entry-point' || pluginData === ownRequest || path.startsWith('node:') || isAbsolute(path))
        return undefined
      if (path === 'skein') return { path: pathToFileURL(ownModule('index')).href, external: true }
      if (path === 'skein/testing') return { path: pathToFileURL(ownModule('testing')).href, external: true }
      const found = await build.resolve(path, { kind, resolveDir, pluginData: ownRequest })
      // A package that is imported lazily is reported missing when it is imported.
      if (found.errors.length > 0)
        return kind === 'import-statement' ? { errors: found.errors } : { path, external: true }
      if (found.external) return { path, external: true }
      if (sources.test(found.path) || !isInstalled(path, resolveDir)) return { path: found.path }
      return { path: kind.startsWith('require') ? found.path : pathToFileURL(found.path).href, external: true }
    })
  },
}

/** Marks a resolution that the plugin itself requests, so that it does not handle it again. */
const ownRequest = Symbol('ownRequest')

const sources = /\.[cm]?tsx?$/

/** Whether this names an installed package, and not a file of the app by tsconfig `paths` or `imports`. */
function isInstalled(path: string, from: string): boolean {
  const name = path
    .split('/')
    .slice(0, path.startsWith('@') ? 2 : 1)
    .join('/')
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules', name))) return true
    if (folder === dirname(folder)) return false
  }
}

function reportFiles(onFile: (path: string) => void): Plugin {
  return {
    name: 'report-files',
    setup(build) {
      build.onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir }) => {
        onFile(join(resolveDir, path))
        return undefined
      })
      build.onLoad({ filter: /./, namespace: 'file' }, ({ path }) => {
        onFile(path)
        return undefined
      })
    },
  }
}

/** In the bundle `import.meta` would be the bundle's; each file gets its own instead. */
const ownMeta = {
  'import.meta.url': '__skein_file.url',
  'import.meta.dirname': '__skein_file.dirname',
  'import.meta.filename': '__skein_file.filename',
  'import.meta.resolve': '__skein_file.resolve',
  __dirname: '__skein_file.dirname',
  __filename: '__skein_file.filename',
}

const readsOwnLocation = /\bimport\s*\.\s*meta\b|\b__(?:dir|file)name\b/

const ownLocations: Plugin = {
  name: 'own-locations',
  setup(build) {
    build.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      if (!readsOwnLocation.test(text)) return undefined
      const own = { url: pathToFileURL(path).href, dirname: dirname(path), filename: path }
      const resolver =
        `((name) => /^\\.{0,2}\\//.test(name) ? new URL(name, ${JSON.stringify(own.url)}).href : ` +
        `__skein_resolve(${JSON.stringify(path)}, name))`
      const declaration = `const __skein_file = { ...${JSON.stringify(own)}, resolve: ${resolver} };`
      return {
        // On the first line, so that every line keeps its number.
        contents: `${declaration} ${text.replace(/^#!.*/, '')}`,
        loader: loaderOf(path),
        resolveDir: dirname(path),
      }
    })
  },
}

function loaderOf(path: string): Loader {
  const kind = extname(path).replace(/^\.[cm]?/, '')
  return kind === 'ts' || kind === 'tsx' || kind === 'jsx' ? kind : 'js'
}

/** A bundle is an ES module; `require` in it resolves as in the app. */
function requireOf(path: string): string {
  return (
    `import { createRequire as __skein_require } from 'node:module'; import { pathToFileURL as __skein_url } from ` +
    `'node:url'; ` +
    `const require = __skein_require(${JSON.stringify(pathToFileURL(join(path, '_')).href)}); const ` +
    `__skein_resolve = (from, name) => __skein_url(__skein_require(from).resolve(name)).href;`
  )
}

/** A built module of this package: an app is plain JavaScript and cannot import TypeScript sources. */
function ownModule(name: 'index' | 'testing'): string {
  const built = import.meta.url.endsWith('.ts') ? `../../../dist/src/${name}.js` : `../../${name}.js`
  return fileURLToPath(new URL(built, import.meta.url))
}

/** Inside the nearest node_modules, if there is one: the bundle is found again with the next start. */
function cacheFolder(path: string): string | undefined {
  for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) {
    const modules = join(folder, 'node_modules')
    if (existsSync(modules)) return join(modules, '.cache', 'skein')
  }
  return undefined
}
