/**
 * A step of a build: of the declarations that the compiler wrote, only those stay that a user's compiler can reach
 * from the doors of the package (`exports` in package.json). The others describe what cannot be imported.
 */
import { readFile, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../dist/', import.meta.url))
const doors = ['src/index.d.ts', 'src/testing.d.ts', 'src/server.d.ts', 'src/client.d.ts', 'src/observe.d.ts']

const reached = new Set<string>()

async function reach(file: string): Promise<void> {
  if (reached.has(file)) return
  reached.add(file)
  const text = await readFile(file, 'utf8')
  for (const [, relative = ''] of text.matchAll(/(?:from|import|import\()\s*['"](\.[^'"]+)\.js['"]/g))
    await reach(join(dirname(file), `${relative}.d.ts`))
}

for (const door of doors) await reach(join(root, door))
const all = await Promise.all(
  ['src', 'actors', 'workers'].map(async (zone) =>
    (await readdir(join(root, zone), { recursive: true })).map((name) => join(root, zone, name)),
  ),
)
const unreached = all.flat().filter((file) => file.endsWith('.d.ts') && !reached.has(file))
await Promise.all(unreached.map((file) => rm(file)))
