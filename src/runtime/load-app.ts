/**
 * Loading an app: a module by URL or path (TypeScript is bundled once with esbuild), or definitions at hand.
 *
 * LA1 `skein` in a bundled app is this very package, wherever the app lies; other packages stay outside the bundle
 *     and are resolved from the app's own folder.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, extname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createApp, isDefinition } from '../agent/app.js'
import type { App } from '../agent/app.js'
import type { Definition } from '../agent/define.js'
import { SkeinError, isSkeinError } from '../core/failure.js'

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
    return fromExports(Object.values((await import(pathToFileURL(runnable).href)) as object), path)
  } catch (thrown) {
    if (isSkeinError(thrown)) throw thrown
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw new SkeinError('APP_NOT_LOADED', `the app ${path} could not be loaded: ${why}`, { cause: thrown })
  }
}

function fromExports(exported: readonly unknown[], source: string): App {
  const definitions = exported.flatMap((value): unknown[] => (Array.isArray(value) ? value : [value])).filter(isDefinition)
  if (definitions.length === 0) throw new SkeinError('APP_NOT_LOADED', `${source} exports no definitions; export what defineAgent, definePrompt, defineTool and defineModel give`)
  return createApp(definitions, source)
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
    packages: 'external',
    sourcemap: 'inline',
    logLevel: 'silent',
    alias: { skein: ownModule('index'), 'skein/testing': ownModule('testing') },
    // An alias is a path; it stays outside so that the app shares this package's modules.
    external: [ownModule('index'), ownModule('testing')],
  })
  const text = outputFiles[0]?.text ?? ''
  const folder = cacheFolder(path)
  const target = join(folder, `${createHash('sha256').update(path).update(text).digest('hex').slice(0, 20)}.mjs`)
  await mkdir(folder, { recursive: true })
  await writeFile(`${target}.${process.pid}`, text)
  await rename(`${target}.${process.pid}`, target)
  return target
}

/** Built modules of this package: an app is plain JavaScript and cannot import our sources. */
function ownModule(name: 'index' | 'testing'): string {
  const built = import.meta.url.endsWith('.ts') ? `../../dist/src/${name}.js` : `../${name}.js`
  return fileURLToPath(new URL(built, import.meta.url))
}

/** Inside the nearest node_modules, so that the bundle finds the app's packages. */
function cacheFolder(path: string): string {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const modules = join(folder, 'node_modules')
    if (existsSync(modules)) return join(modules, '.cache', 'skein')
  }
  return join(tmpdir(), 'skein-apps')
}
