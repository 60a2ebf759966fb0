/**
 * The files of the page, as the build made them: one document for every address below `/ui`, and assets whose names
 * change with their contents. They hold no data, so nobody is asked for a key.
 *
 * - The document names its assets relative to the address that it is asked for: it works below any path.
 * - Nothing of another origin is loaded, and no text becomes script (`content-security-policy`).
 */
import { readFile, readdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { HttpProblem } from './problem.js'

const fromSource = import.meta.url.endsWith('.ts')
const folder = new URL(fromSource ? '../../dist/page/' : '../../page/', import.meta.url)

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types skein-page',
].join('; ')

const safety = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

interface Asset {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly packed: Uint8Array<ArrayBuffer>
}

interface PageFiles {
  readonly document: string
  /** The name of its first script, which changes with anything in it. */
  readonly build: string
  /** What a place needs besides, by the first part of its address: it comes together with the rest. */
  readonly parts: ReadonlyMap<string, string>
  readonly assets: ReadonlyMap<string, Asset>
}

let loaded: Promise<PageFiles> | undefined
const pack = promisify(gzip)

async function readAsset(name: string): Promise<readonly [string, Asset]> {
  const bytes = new Uint8Array(await readFile(new URL(`assets/${name}`, folder)))
  return [name, { bytes, packed: new Uint8Array(await pack(bytes)) }]
}

async function readPage(): Promise<PageFiles> {
  try {
    const names = await readdir(new URL('assets/', folder))
    const assets = await Promise.all(names.map(readAsset))
    const document = await readFile(new URL('index.html', folder), 'utf8')
    const [, build = ''] = /src="\.\/assets\/([\w.-]+)"/.exec(document) ?? []
    return { document, build, parts: partsOf(names), assets: new Map(assets) }
  } catch {
    loaded = undefined
    throw new HttpProblem(
      { status: 404, code: 'NOT_FOUND' },
      `the page is not in ${fromSource ? 'dist/page: npm run build makes it' : 'this installation of Skein'}`,
    )
  }
}

const screens: Readonly<Record<string, string>> = {
  'trees/': 'tree-screen',
  'threads/': 'thread-screen',
  inbox: 'inbox',
}

function partsOf(names: readonly string[]): ReadonlyMap<string, string> {
  const link = (name: string): string =>
    `<link rel="${name.endsWith('.css') ? 'stylesheet' : 'modulepreload'}" crossorigin href="./assets/${name}">`
  return new Map(
    Object.entries(screens).map(([place, screen]) => [
      place,
      names
        .filter((name) => new RegExp(`^${screen}-[\\w-]{8}\\.(js|css)$`).test(name))
        .map(link)
        .join(''),
    ]),
  )
}

/** Which page is served: an open one compares it with itself. Empty where there is none. */
export async function pageBuild(): Promise<string> {
  loaded ??= readPage()
  return loaded.then(({ build }) => build).catch(() => '')
}

/** `path` is what follows `/ui`: empty, `/`, `/trees/a`, `/assets/main-1.js`. */
export async function servePage(path: string, request: Request): Promise<Response> {
  loaded ??= readPage()
  const { document, assets, parts } = await loaded
  const [, name] = /^\/(?:.*\/)?assets\/([\w.-]+)$/.exec(path) ?? []
  if (name !== undefined) return assetResponse(assets.get(name), name, request)
  // As many folders up as the address has below `/ui`; without a slash at its end that folder is the one above.
  const depth = path.split('/').length - 2
  const prefix = depth < 0 ? 'ui/' : '../'.repeat(depth)
  const [, place = ''] = /^\/(trees\/(?=.)|threads\/(?=.)|inbox)/.exec(path) ?? []
  const whole = document.replace('</head>', `${parts.get(place) ?? ''}</head>`)
  const text = whole.replaceAll(/(src|href)="\.\/assets\//g, `$1="${prefix}assets/`)
  return new Response(text, {
    headers: { ...safety, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
  })
}

function assetResponse(asset: Asset | undefined, name: string, { headers }: Request): Response {
  if (!asset) throw new HttpProblem({ status: 404, code: 'NOT_FOUND' }, 'the page has no such file; load it again')
  const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
  const isPacked = /\bgzip\b/.test(headers.get('accept-encoding') ?? '')
  return new Response(isPacked ? asset.packed : asset.bytes, {
    headers: {
      ...safety,
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
      ...(isPacked && { 'content-encoding': 'gzip' }),
    },
  })
}
