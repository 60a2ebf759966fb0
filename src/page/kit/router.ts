/**
 * Addresses of the page: what is looked at is in the address, all of it, so that a copied one shows the same. Owns the
 * current address; going somewhere makes an entry of the history, a change of a view replaces it.
 */
import { signal } from '@preact/signals'

export interface PageAddress {
  /** Parts after the page's own path, decoded. */
  readonly parts: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

/** Where this script is: in `assets/` below the page. A name of its own, so that the build leaves it alone. */
const here = import.meta.url
/** The folder of the page, with a slash at its end. */
const pageBase = new URL('../', here).pathname
/** Which page this is: the name of its script changes with anything in it. */
export const ownBuild = new URL(here).pathname.split('/').at(-1) ?? ''
/** The service that serves the page. */
export const serviceBase = new URL('../../', here).pathname

function readAddress(): PageAddress {
  const { pathname, search } = location
  const rest = pathname.startsWith(pageBase) ? pathname.slice(pageBase.length) : ''
  const parts = rest
    .split('/')
    .filter((part) => part !== '')
    .map(decodePart)
  return { parts, query: Object.fromEntries(new URLSearchParams(search)) }
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const address = signal<PageAddress>(readAddress())

type Query = Readonly<Record<string, string | undefined>>

export function hrefOf(parts: readonly string[], query: Query = {}): string {
  const asked = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') asked.set(name, value)
  const text = asked.toString()
  return `${pageBase}${parts.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

export function goTo(href: string): void {
  if (href === location.pathname + location.search) return
  history.pushState(null, '', href)
  address.value = readAddress()
}

/** The same page with another view of it: Back does not come here again. */
export function changeQuery(changes: Query): void {
  const { parts, query } = address.peek()
  history.replaceState(null, '', hrefOf(parts, { ...query, ...changes }))
  address.value = readAddress()
}

/** Links stay links: with a key or another button the browser does what it does. */
function onClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return
  const target = event.target instanceof Element ? event.target.closest('a[href]') : null
  const href = target?.getAttribute('href')
  if (!href?.startsWith(pageBase) || target?.hasAttribute('download')) return
  event.preventDefault()
  goTo(href)
}

export function startRouter(): void {
  addEventListener('popstate', () => {
    address.value = readAddress()
  })
  document.addEventListener('click', onClick)
}
