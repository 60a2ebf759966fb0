/**
 * Requests that a page of another site has a browser send. They carry what the browser has by itself: a cookie, a
 * password of basic authentication, or that it reaches loopback. A bearer key it has not.
 *
 * - Reading is left alone: a page cannot read the answer of another site.
 */
import { HttpProblem } from '../problem.js'

const reads: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Throws where a page of a site that is not among `origins` would change something. */
export function checkSite(request: Request, origins: ReadonlySet<string>): void {
  const { method, headers } = request
  if (reads.has(method) || /^bearer /i.test(headers.get('authorization') ?? '')) return
  const origin = headers.get('origin')
  if (origin !== null && origins.has(origin)) return
  if (!isForeign(headers, origin)) return
  throw new HttpProblem(
    { status: 403, code: 'FORBIDDEN' },
    'a page of another site sent this; createHandler({ cors: [origin] }) names the sites that may',
  )
}

/** Browsers say it; old ones only where the page is from. A program says neither. */
function isForeign(headers: Headers, origin: string | null): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site !== 'same-origin' && site !== 'none'
  if (origin === null) return false
  return !URL.canParse(origin) || new URL(origin).host !== headers.get('host')
}

const loopbackName = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i

/** A name of this machine. Another name that leads here is how a site reaches loopback through a browser. */
export function isLoopback(host: string): boolean {
  return loopbackName.test(host)
}

/** Of the header `host`. */
export function hasLoopbackName(host: string | undefined): boolean {
  return isLoopback((host ?? '').replace(/:\d+$/, ''))
}
