/**
 * From the sources of an app to one module that this process and every worker thread can import (esbuild, once).
 *
 * LA1 `skein` in a bundled app is this very package, wherever the app lies; other packages stay outside the bundle
 *     and are those that the app's own folder finds. The bundle may therefore lie anywhere.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { BuildOptions, Plugin } from 'esbuild'
import { SkeinError } from '../core/failure.js'
import { isObject } from '../core/json.js'

export interface BundleEntry {
  /** The app's file or folder. */
  readonly path: string
  /** In place of the file: text that imports what belongs to the bundle, by paths below the folder. */
  readonly text?: string
}

/** The file that holds the bundle. */
export async function bundle({ path, text: entry }: BundleEntry): Promise<string> {
  const { build } = await import('esbuild')
  const start: BuildOptions = entry === undefined ? { entryPoints: [path] } : { stdin: { contents: entry, resolveDir: path, sourcefile: 'app.mjs', loader: 'js' } }
  const { outputFiles } = await build({
    ...start,
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // As Node chooses: a package's `module` field is for bundlers.
    mainFields: ['main'],
    sourcemap: 'inline',
    logLevel: 'silent',
    plugins: [packagesByPath],
  })
  const text = outputFiles[0]?.text ?? ''
  const name = `${createHash('sha256').update(path).update(text).digest('hex').slice(0, 20)}.mjs`
  const written = (await write(cacheFolder(path), name, text)) ?? (await write(await mkdtemp(join(tmpdir(), 'skein-app-')), name, text))
  if (written === undefined) throw new SkeinError('APP_NOT_LOADED', `the app ${path} must be bundled, and there is no place to write its bundle to; tried node_modules/.cache and ${tmpdir()}`)
  return written
}

/** LA1: packages stay outside the bundle, by the path that they have as seen from the app. */
const packagesByPath: Plugin = {
  name: 'packages-by-path',
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, pluginData }) => {
      if (kind === 'entry-point' || pluginData === asked || path.startsWith('node:')) return undefined
      if (path === 'skein') return { path: pathToFileURL(ownModule('index')).href, external: true }
      if (path === 'skein/testing') return { path: pathToFileURL(ownModule('testing')).href, external: true }
      const found = await build.resolve(path, { kind, resolveDir, pluginData: asked })
      if (found.errors.length > 0) return { errors: found.errors }
      return { path: found.external ? path : pathToFileURL(found.path).href, external: true }
    })
  },
}

/** Marks our own question, so that the plugin does not ask itself. */
const asked = Symbol('asked')

/** Undefined where this folder cannot be written: a read-only image, a folder that is not there. */
async function write(folder: string | undefined, name: string, text: string): Promise<string | undefined> {
  if (folder === undefined) return undefined
  const target = join(folder, name)
  try {
    await mkdir(folder, { recursive: true })
    await writeFile(`${target}.${process.pid}`, text)
    await rename(`${target}.${process.pid}`, target)
    return target
  } catch (thrown) {
    if (isObject(thrown) && ['EACCES', 'EROFS', 'EPERM', 'ENOSPC', 'ENOTDIR', 'EEXIST'].includes(String(thrown['code']))) return undefined
    throw thrown
  }
}

/** Built modules of this package: an app is plain JavaScript and cannot import our sources. */
function ownModule(name: 'index' | 'testing'): string {
  const built = import.meta.url.endsWith('.ts') ? `../../dist/src/${name}.js` : `../${name}.js`
  return fileURLToPath(new URL(built, import.meta.url))
}

/** Kept from one start to the next where there is a place for it. */
function cacheFolder(path: string): string | undefined {
  for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) {
    const modules = join(folder, 'node_modules')
    if (existsSync(modules)) return join(modules, '.cache', 'skein')
  }
  return undefined
}
