/**
 * Writes the tables of docs/http.md from the table of routes. `npm run http-routes` writes them; with `-- --check` it
 * exits 1 when the page is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { routes } from '../src/http/table.js'
import type { Route } from '../src/http/route.js'

const page = join(fileURLToPath(new URL('..', import.meta.url)), 'docs/http.md')
const begin = '<!-- routes: written by npm run http-routes -->'
const end = '<!-- routes end -->'

function rowOf({ method, path, scope, summary, query, answer }: Route): string {
  const fields = Object.keys(query).map((name) => `\`${name}\``)
  const asks = fields.length > 0 ? ` Query: ${fields.join(', ')}.` : ''
  const isStream = answer.type === 'events' ? ' Server-sent events.' : ''
  return `| \`${method.toUpperCase()} ${path}\` | ${scope ?? 'none'} | ${answer.status} | ${summary}${asks}${isStream} |`
}

export function routeTable(): string {
  const rows = routes.map(rowOf)
  return [begin, '', '| route | scope | success | |', '|---|---|--:|---|', ...rows, '', end].join('\n')
}

/** The page with its table as it should be. */
export function currentPage(text: string): string {
  return `${text.slice(0, text.indexOf(begin))}${routeTable()}${text.slice(text.indexOf(end) + end.length)}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = readFileSync(page, 'utf8')
  const current = currentPage(text)
  if (!process.argv.includes('--check')) writeFileSync(page, current)
  else if (current !== text) {
    console.error('docs/http.md is stale: npm run http-routes')
    process.exitCode = 1
  }
}
