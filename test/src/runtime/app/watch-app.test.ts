/** Which changes of files are changes of an app. Real files, and what the system tells of them. */
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { watchApp } from '../../../../src/runtime/app/watch.js'

function folder() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'skein-watch-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  symlinkSync(fileURLToPath(new URL('../../../../node_modules', import.meta.url)), join(root, 'node_modules'))
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return { root, write }
}

async function watching(root: string, app: string) {
  const told: string[][] = []
  let next: ((files: readonly string[]) => void) | undefined
  const watch = await watchApp(join(root, app), {
    onChange(files) {
      told.push(files.map((file) => file.slice(root.length + 1)))
      next?.(files)
    },
  })
  onTestFinished(() => watch.close())
  const files = (): readonly string[] => watch.files.map((file) => file.slice(root.length + 1)).sort()
  /** What is told of after this was done. */
  const after = async (change: () => void): Promise<readonly string[]> => {
    const before = told.length
    const came = new Promise<unknown>((resolve) => {
      next = resolve
    })
    change()
    await came
    return told.slice(before).flat()
  }
  return { files, after }
}

const tool = (name: string) => `export const ${name} = { kind: 'tool', name: '${name}', args: {} }`

it('E6: a file that the app imports, and only if its contents are others', async () => {
  const { root, write } = folder()
  write('app.ts', `import { word } from './lib/word.js'\nimport data from './data.json'\nexport { word, data }`)
  write('lib/word.ts', `export const word = 1`)
  write('data.json', `{}`)
  const { files, after } = await watching(root, 'app.ts')
  expect(files()).toEqual(['app.ts', 'data.json', 'lib/word.ts'])
  const changed = await after(() => {
    write('app.test.ts', 'is not imported')
    write('app.ts', `import { word } from './lib/word.js'\nimport data from './data.json'\nexport { word, data }`)
    write('lib/word.ts', `export const word = 2`)
  })
  expect(changed).toEqual(['lib/word.ts'])
  expect(await after(() => write('data.json', '{"a":1}'))).toEqual(['data.json'])
})

it('E6: a file that an editor replaces, and a folder that is made anew', async () => {
  const { root, write } = folder()
  write('app.ts', `export { word } from './lib/word.js'`)
  write('lib/word.ts', `export const word = 1`)
  const { after } = await watching(root, 'app.ts')
  const replaced = await after(() => {
    write('lib/word.ts~', `export const word = 2`)
    renameSync(join(root, 'lib/word.ts~'), join(root, 'lib/word.ts'))
  })
  expect(replaced).toEqual(['lib/word.ts'])
  const anew = await after(() => {
    rmSync(join(root, 'lib'), { recursive: true })
    write('lib/word.ts', `export const word = 3`)
  })
  expect(anew).toEqual(['lib/word.ts'])
  expect(await after(() => write('lib/word.ts', `export const word = 4`))).toEqual(['lib/word.ts'])
})

it('E6: a file that was missing, and one that has a mistake', async () => {
  const { root, write } = folder()
  write('app.ts', `export { word } from './lib/word.js'`)
  const { files, after } = await watching(root, 'app.ts')
  expect(files()).toEqual(['app.ts'])
  expect(await after(() => write('lib/word.ts', `export const word = `))).toEqual(['lib/word.ts'])
  expect(await after(() => write('lib/word.ts', `export const word = 1`))).toEqual(['lib/word.ts'])
})

it('E6: a file that comes into a folder by convention, or goes, also into one that was not there', async () => {
  const { root, write } = folder()
  write('app/agents/one.ts', tool('one'))
  const { after } = await watching(root, 'app')
  expect(await after(() => write('app/tools/add.ts', tool('add')))).toEqual(['app/tools/add.ts'])
  expect(await after(() => write('app/tools/more.ts', tool('more')))).toEqual(['app/tools/more.ts'])
  expect(await after(() => rmSync(join(root, 'app/tools/add.ts')))).toEqual(['app/tools/add.ts'])
})

it('E6, E3, E2: an agent in Markdown, and any file of a skill, also of one that comes', async () => {
  const { root, write } = folder()
  write('app/agents/one.md', '---\nname: one\n---\nYou help.')
  const { files, after } = await watching(root, 'app')
  expect(files()).toEqual(['app/agents/one.md'])
  expect(await after(() => write('app/agents/one.md', '---\nname: one\n---\nYou do not.'))).toEqual([
    'app/agents/one.md',
  ])
  expect(await after(() => write('app/skills/a/SKILL.md', 'x'))).toEqual(['app/skills/a/SKILL.md'])
  expect(await after(() => write('app/skills/a/scripts/run.py', 'x'))).toEqual(['app/skills/a/scripts/run.py'])
  expect(await after(() => write('app/skills/a/scripts/run.py', 'y'))).toEqual(['app/skills/a/scripts/run.py'])
})
