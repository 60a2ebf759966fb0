/** What the documents refer to exists: files, headings of other pages, and the functions of the walks. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => join('docs', name))
const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...docs].filter((name) => name.endsWith('.md'))

/** As GitHub makes them. */
function anchors(page: string): readonly string[] {
  const headings = [...page.replace(/```[\s\S]*?```/g, '').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function broken(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8').replace(/```[\s\S]*?```/g, '')
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^https?:/.test(target)) return []
    const [path = '', anchor] = target.split('#')
    const file = path === '' ? join(root, page) : join(root, dirname(page), path)
    if (!existsSync(file)) return [`${target} does not exist`]
    if (anchor === undefined || anchors(readFileSync(file, 'utf8')).includes(anchor)) return []
    return [`${relative(root, file)} has no heading #${anchor}`]
  })
}

it.each(pages)('the links of %s lead somewhere', (page) => {
  expect(broken(page)).toEqual([])
})

it('every decision is in the index', () => {
  const index = readFileSync(join(root, 'docs/decisions/README.md'), 'utf8')
  for (const page of docs.filter((name) => /decisions\/\d{4}-/.test(name)))
    expect(index).toContain(`(${relative('docs/decisions', page)})`)
})

/** How a module declares a name: as a function, class or constant, or as a member. */
function declares(source: string, name: string): boolean {
  return [
    `\\b(?:function\\*?|class|const|interface) ${name}\\b`,
    `^ +(?:async |readonly |static |get )*\\*?${name}(?:<[^>]*>)?(?:\\(| = )`,
  ].some((pattern) => new RegExp(pattern, 'm').test(source))
}

it('every `file › function` in docs/architecture.md exists', () => {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const named = [...page.matchAll(/`([\w/.-]+) › ([^`]+)`/g)]
  expect(named.length).toBeGreaterThan(80)
  const missing = named.flatMap(([, file = '', names = '']) => {
    const path = file.replace(/(?:\.ts)?$/, '.ts')
    const places = ['', 'src', 'src/runtime', 'src/backend/nats'].map((zone) => join(root, zone, path))
    const found = places.find((each) => existsSync(each))
    if (found === undefined) return [`${file} does not exist`]
    const source = readFileSync(found, 'utf8')
    return names.split(', ').flatMap((name) => (declares(source, name) ? [] : [`${file} declares no ${name}`]))
  })
  expect(missing).toEqual([])
})
