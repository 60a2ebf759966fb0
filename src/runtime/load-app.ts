/**
 * Loading an app: a module by URL or path (TypeScript is bundled once with esbuild), or definitions at hand.
 *
 * LA1 `skein` in a bundled app is this very package, wherever the app lies; other packages stay outside the bundle
 *     and are those that the app's own folder finds. The bundle may therefore lie anywhere.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, extname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Plugin } from 'esbuild'
import { createApp, isDefinition } from '../agent/app.js'
import type { App } from '../agent/app.js'
import type { Definition } from '../agent/define.js'
import { SkeinError, isSkeinError } from '../core/failure.js'
import { isObject } from '../core/json.js'

export type AppSource = URL | string | readonly Definition[] | { readonly [name: string]: unknown }

const typescript = new Set(['.ts', '.mts', '.cts', '.tsx'])

export async function loadApp(source: AppSource): Promise<App> {
  if (Array.isArray(source)) return createApp(source, 'the list of definitions')
  if (source instanceof URL) return fromFile(fileURLToPath(source))
  if (typeof source === 'string') return fromFile(resolve(source))
  return fromExports(Object.values(source), 'the module of definitions')
}

async function fromFile(path: string): Promise<App> {
  if (!existsSync(path)) throw new SkeinError('APP_NOT_LOADED', `there is no app at ${path}`)
  try {
    const runnable = typescript.has(extname(path)) ? await bundle(path) : path
    const module = pathToFileURL(runnable).href
    return fromExports(Object.values((await import(module)) as object), path, module)
  } catch (thrown) {
    if (isSkeinError(thrown)) throw thrown
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw new SkeinError('APP_NOT_LOADED', `the app ${path} could not be loaded: ${why}`, { cause: thrown })
  }
}

function fromExports(exported: readonly unknown[], source: string, module?: string): App {
  const definitions = exported.flatMap((value): unknown[] => (Array.isArray(value) ? value : [value])).filter(isDefinition)
  if (definitions.length === 0) throw new SkeinError('APP_NOT_LOADED', `${source} exports no definitions; export what defineAgent, definePrompt, defineTool and defineModel give`)
  return createApp(definitions, source, module)
}

async function bundle(path: string): Promise<string> {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [path],
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
  if (written === undefined) throw new SkeinError('APP_NOT_LOADED', `the app ${path} is TypeScript, and there is no place to write its bundle to; tried node_modules/.cache and ${tmpdir()}`)
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
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const modules = join(folder, 'node_modules')
    if (existsSync(modules)) return join(modules, '.cache', 'skein')
  }
  return undefined
}
