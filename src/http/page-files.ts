/**
 * The files of the page, as the build made them: one document for every address below `/ui`, and assets whose names
 * change with their contents. They hold no data, so nobody is asked for a key.
 *
 * - The document names its assets relative to the address that it is asked for: it works below any path.
 * - Nothing of another origin is loaded, and no text becomes script (`content-security-policy`).
 */
import { readFile, readdir } from 'node:fs/promises'
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

interface PageFiles {
  readonly document: string
  readonly assets: ReadonlyMap<string, Uint8Array<ArrayBuffer>>
}

let loaded: Promise<PageFiles> | undefined

async function readPage(): Promise<PageFiles> {
  try {
    const names = await readdir(new URL('assets/', folder))
    const assets = await Promise.all(
      names.map(async (name) => [name, new Uint8Array(await readFile(new URL(`assets/${name}`, folder)))] as const),
    )
    return { document: await readFile(new URL('index.html', folder), 'utf8'), assets: new Map(assets) }
  } catch {
    loaded = undefined
    throw new HttpProblem(
      { status: 404, code: 'NOT_FOUND' },
      `the page is not in ${fromSource ? 'dist/page: npm run build makes it' : 'this installation of Skein'}`,
    )
  }
}

/** `path` is what follows `/ui`: empty, `/`, `/trees/a`, `/assets/main-1.js`. */
export async function servePage(path: string): Promise<Response> {
  loaded ??= readPage()
  const { document, assets } = await loaded
  const [, name] = /^\/(?:.*\/)?assets\/([\w.-]+)$/.exec(path) ?? []
  if (name !== undefined) return assetResponse(assets, name)
  // As many folders up as the address has below `/ui`; without a slash at its end that folder is the one above.
  const depth = path.split('/').length - 2
  const prefix = depth < 0 ? 'ui/' : '../'.repeat(depth)
  const text = document.replaceAll(/(src|href)="\.\/assets\//g, `$1="${prefix}assets/`)
  return new Response(text, {
    headers: { ...safety, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
  })
}

function assetResponse(assets: PageFiles['assets'], name: string): Response {
  const bytes = assets.get(name)
  if (!bytes) throw new HttpProblem({ status: 404, code: 'NOT_FOUND' }, 'the page has no such file; load it again')
  const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
  return new Response(bytes, {
    headers: { ...safety, 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' },
  })
}
