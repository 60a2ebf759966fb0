/**
 * What Skein uses of zod, for vendor.ts: half of zod is parts that nobody here names, and a process reads, compiles and
 * runs all that its copy has before its first line.
 *
 * - Modules write `z.<name>`, and `z.core.<name>` or `z.locales.<name>`. Whatever else they did with `z` would find
 *   nothing there, so it is refused.
 */
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

const importOfZod = /^import \{ z \} from 'zod';?$/m

/** The same for a copy that exports what is used, under its name. */
export const byNames = (text: string): string => text.replace(importOfZod, `import * as z from 'zod';`)

/** Parts that are objects of their own, and where zod has their members. */
const parts: Readonly<Record<string, string>> = { core: 'zod/v4/core', locales: 'zod/v4/locales' }

/** Of modules that the compiler wrote: names, and `part.name` of parts. */
export async function namesOfZod(dist: string): Promise<readonly string[]> {
  const found = new Set<string>()
  for (const zone of ['src', 'actors', 'workers'])
    for (const name of await readdir(join(dist, zone), { recursive: true })) {
      if (!name.endsWith('.js')) continue
      const text = await readFile(join(dist, zone, name), 'utf8')
      if (!importOfZod.test(text)) continue
      const code = text.replace(importOfZod, '').replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '')
      for (const [, names = ''] of code.matchAll(/(?<![\w$.'-])z\b(?!['-])((?:\s*\.\s*[\w$]+)*)/g)) {
        const [first, second] = names
          .split('.')
          .slice(1)
          .map((each) => each.trim())
        if (first === undefined) throw new Error(`${zone}/${name} uses z as a whole; write z.<name>`)
        found.add(Object.hasOwn(parts, first) ? `${first}.${second}` : first)
      }
    }
  return [...found].sort()
}

/** The module that exports these and nothing else. */
export function exportsOfZod(names: readonly string[]): string {
  const own = names.filter((name) => !name.includes('.'))
  const lines = Object.entries(parts).flatMap(([part, from]) => {
    const members = names.filter((name) => name.startsWith(`${part}.`)).map((name) => name.slice(part.length + 1))
    return members.length === 0
      ? []
      : [`import { ${members.join(', ')} } from '${from}'`, `export const ${part} = { ${members.join(', ')} }`]
  })
  return [`export { ${own.join(', ')} } from 'zod'`, ...lines].join('\n')
}
