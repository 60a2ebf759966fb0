/** Apps from folders by convention: one definition to a file, which names it. */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadApp } from '../../../../src/runtime/app/load.js'

const definitions = {
  'agents/team.ts': `export default { kind: 'agent', type: 'ai_human' as const, sideA: { prompt: 'lead' } }`,
  'prompts/lead.ts':
    `export const anything = { kind: 'prompt', name: 'lead', prompt: 'You lead.', model: 'fast', ` +
    `tools: ['count', 'search-docs'] }`,
  'models/fast.js': `export default { kind: 'model', name: '', model: () => { throw new Error('not now') } }`,
  'tools/count.mjs':
    `import { z } from 'zod'\nimport { add } from '../lib/counter.ts'\nexport default { kind: ` +
    `'tool', name: '', description: '', args: z.object({}), execute: () => add() }`,
  'tools/search-docs.ts':
    `import { z } from 'zod'\nimport { add } from '../lib/counter.ts'\nconst tool = { kind: ` +
    `'tool', name: 'search-docs', description: '', args: z.object({ query: z.string() }), execute: (): number => ` +
    `add() }\nexport { tool, tool as default }`,
  'lib/counter.ts': `let count: number = 0\nexport const add = (): number => ++count`,
} as const

describe('loadApp(folder)', () => {
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'skein-folder-'))
    await mkdir(join(dir, 'node_modules'))
    await symlink(
      fileURLToPath(new URL('../../../../node_modules/zod', import.meta.url)),
      join(dir, 'node_modules', 'zod'),
    )
  })
  afterEach(() => rm(dir, { recursive: true, force: true }))

  const put = async (files: Readonly<Record<string, string>>): Promise<void> => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(dir, path)), { recursive: true })
      await writeFile(join(dir, path), text)
    }
  }
  const message = async (files: Readonly<Record<string, string>>): Promise<string> => {
    await put(files)
    const refused: unknown = await loadApp(dir).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    return refused instanceof Error ? refused.message : 'none'
  }

  it('D2: files give their definitions their names, and share what they import', async () => {
    await put(definitions)
    const app = await loadApp(new URL(`${pathToFileURL(dir)}/`))
    expect([...app.agents.keys(), ...app.prompts.keys(), ...app.models.keys(), ...app.tools.keys()]).toEqual([
      'team',
      'lead',
      'fast',
      'count',
      'search-docs',
    ])
    expect([...app.tools.values()].map(({ name }) => name)).toEqual(['count', 'search-docs'])
    const ran = [...app.tools.values()].map(({ execute }) => execute && Reflect.apply(execute, undefined, [{}, {}]))
    expect(ran).toEqual([1, 2])
  })

  it('D2: a worker thread imports the same definitions from one module, by the same names', async () => {
    await put(definitions)
    const { module } = await loadApp(dir)
    const looks = `
      const { parentPort } = require('node:worker_threads')
      import(${JSON.stringify(module)}).then((exported) => {
        const found = Object.values(exported).flat().filter((value) => value !== null && typeof value === 'object' && typeof value.kind === 'string')
        parentPort.postMessage(found.map(({ kind, name }) => kind + ' ' + name))
      })`
    const worker = new Worker(looks, { eval: true })
    const [names] = await new Promise<unknown[]>((resolve, reject) => {
      worker.once('message', (said: unknown) => resolve([said])).once('error', reject)
    })
    await worker.terminate()
    expect(names).toEqual(['agent team', 'prompt lead', 'tool count', 'tool search-docs', 'model fast'])
    expect(await readFile(fileURLToPath(module ?? ''), 'utf8')).toContain('search-docs')
  })

  it('D2: documents, tests, types and deeper folders are passed over', async () => {
    await put({
      ...definitions,
      'README.md': '# An app',
      'tools/README.md': '# Tools',
      'tools/count.test.ts': 'throw new Error("a test")',
      'tools/count.spec.mjs': 'throw new Error("a test")',
      'tools/count.d.ts': 'export {}',
      'tools/.hidden.js': 'throw new Error("hidden")',
      'tools/deeper/other.ts': 'throw new Error("deeper")',
    })
    expect([...(await loadApp(dir)).tools.keys()]).toEqual(['count', 'search-docs'])
  })

  it('D2: files in hooks/ are hooks, named after their files', async () => {
    const prompt = definitions['prompts/lead.ts']
    await put({
      ...definitions,
      'prompts/lead.ts': prompt.replace('{', "{ hooks: ['guard'],"),
      'hooks/guard.ts': `export default { kind: 'hook', on: 'stop', run() { return undefined } }`,
    })
    const app = await loadApp(dir)
    expect([...app.hooks.keys()]).toEqual(['guard'])
    expect(await message({ 'hooks/wrong.ts': `export default { kind: 'model', model: {} }` })).toContain(
      'hooks/wrong.ts: it exports a model; hooks/ holds hooks',
    )
  })

  it('D2, H2: files in api/ and its folders are endpoints; two of one route and wrong names are mistakes', async () => {
    const endpoint = `export default { kind: 'endpoint', run: () => new Response('') }`
    await put({
      ...definitions,
      'api/notes/[id].post.ts': endpoint,
      'api/index.ts': endpoint,
      'api/v1.5/[*].ts': endpoint,
    })
    expect([...(await loadApp(dir)).endpoints.keys()]).toEqual(['index', 'notes/[id].post', 'v1.5/[*]'])
    const wrong = await message({
      'api/notes/[name].post.ts': endpoint,
      'api/[*]/more.ts': endpoint,
      'api/[a]/[a].ts': endpoint,
      'api/a b.ts': endpoint,
      'api/tool.ts': `export default { kind: 'model', model: {} }`,
    })
    for (const text of [
      'endpoint "notes/[name].post" and "notes/[id].post" are one route: POST /notes/[dynamic]',
      '[*] stands at the end',
      'two parts of its path have one name',
      '"a b" is no part of a path',
      'api/tool.ts: it exports a model; api/ holds endpoints',
    ])
      expect(wrong).toContain(text)
  })

  it('D2: an empty folder says what belongs in it', async () => {
    expect(await message({ 'tools/README.md': '' })).toMatch(
      new RegExp(`^the folder ${dir} holds no app: no file in agents/, prompts/, tools/, models/, hooks/`),
    )
  })

  it('D2: what is wrong with its files, each by its path', async () => {
    const tool = (name: string): string => `{ kind: 'tool', name: '${name}', description: '', args: {}, execute() {} }`
    const text = await message({
      ...definitions,
      'tools/nothing.ts': 'export const version = 5',
      'tools/two.ts': `export default ${tool('two')}\nexport const other = ${tool('other')}`,
      'tools/named.ts': `export default ${tool('different')}`,
      'tools/prompt.ts': definitions['prompts/lead.ts'].replace(`'lead'`, `''`),
    })
    expect(text.split('\n')).toEqual([
      `the folder ${dir} has 5 mistakes:`,
      '- tools/named.ts: its definition is named "different"; in a folder the file gives the name: rename one of ' +
        'them, or leave `name` out',
      '- tools/nothing.ts: it exports no definition; its default export must be one',
      '- tools/prompt.ts: it exports a prompt; tools/ holds tools',
      '- tools/two.ts: it exports 2 definitions (tool "two", tool "other"); one file holds one',
      '- tools/named.ts: tool "named": args: must be a zod 4 schema',
    ])
  })

  it('D2: a folder whose name is misspelt is told, unless the right one is beside it', async () => {
    const text = await message({ ...definitions, 'skils/mail/SKILL.md': '', 'hook/log.ts': '' })
    expect(text.split('\n').slice(1)).toEqual([
      '- hook/ is read by nobody: did you mean hooks/?',
      '- skils/ is read by nobody: did you mean skills/?',
    ])
    await rm(join(dir, 'skils'), { recursive: true })
    await rm(join(dir, 'hook'), { recursive: true })
    expect(await message({ 'tool/shared.ts': 'export const one = 1', 'apps/x.ts': '', 'lib/y.ts': '' })).toBe('none')
  })

  it('D2: a misspelt folder without any other names what was meant', async () => {
    expect(await message({ 'agent/team.ts': definitions['agents/team.ts'] })).toContain('did you mean agents/?')
  })

  it('D2: two files of one name', async () => {
    await put({ ...definitions, 'tools/count.ts': definitions['tools/count.mjs'] })
    await expect(loadApp(dir)).rejects.toMatchObject({
      code: 'DUPLICATE_NAME',
      message: `the folder ${dir} has a mistake:\n- tools/count.ts and tools/count.mjs both name "count"; keep one`,
    })
  })

  it('no mistake hides another: two files of one name, a bad file name, a file without a definition, a name that is not there', async () => {
    const text = await message({
      ...definitions,
      'tools/count.ts': definitions['tools/count.mjs'],
      'tools/1st.ts': definitions['tools/count.mjs'],
      'tools/nothing.ts': 'export const version = 5',
      'prompts/other.ts':
        `export default { kind: 'prompt', name: 'different', prompt: '', model: 'slow', tools: ` +
        `['nothing', '1st', 'none'] }`,
      'agents/second.ts': `export default { kind: 'agent', type: 'ai_human', sideA: { prompt: 'different' } }`,
    })
    expect(text.split('\n')).toEqual([
      `the folder ${dir} has 6 mistakes:`,
      '- tools/count.ts and tools/count.mjs both name "count"; keep one',
      expect.stringContaining('- prompts/other.ts: its definition is named "different"'),
      '- tools/nothing.ts: it exports no definition; its default export must be one',
      '- tools/1st.ts: tool "1st": name: a name is a letter, then up to 63 letters, digits, "_" or "-"',
      '- prompts/other.ts: prompt "other" names the model "slow"; there are: fast',
      expect.stringContaining('- prompts/other.ts: prompt "other" names the tool "none"; there are: '),
    ])
  })

  it('DE1: a file that exports what looks like a tool says what makes it one', async () => {
    expect(
      await message({
        ...definitions,
        'tools/plain.ts':
          `import { z } from 'zod'\nexport const plain = { description: '', args: z.object({}), ` +
          `execute: () => 1 }`,
      }),
    ).toBe(
      `the folder ${dir} has a mistake:\n- tools/plain.ts: it exports no definition: plain looks like a tool: ` +
        `wrap it in defineTool`,
    )
  })

  it('D1: a reserved name is refused with the very file', async () => {
    await put({ ...definitions, 'tools/response.ts': definitions['tools/count.mjs'] })
    await expect(loadApp(dir)).rejects.toMatchObject({
      code: 'RESERVED_NAME',
      message:
        `the folder ${dir} has a mistake:\n- tools/response.ts: tool "response": this name belongs to ` +
        `Skein; choose another`,
    })
  })

  it('D1: any mistake of a definition is told with the very file', async () => {
    expect(
      await message({
        ...definitions,
        'prompts/other.ts': `export default { kind: 'prompt', name: '', prompt: '', model: 'slow' }`,
        'tools/1st.ts': definitions['tools/count.mjs'],
      }),
    ).toMatch(
      /- tools\/1st\.ts: tool "1st": name: a name is a letter.*\n- prompts\/other\.ts: prompt "other" names the model "slow"; there are: fast$/,
    )
  })

  it('what cannot be bundled names its file', async () => {
    expect(await message({ ...definitions, 'tools/broken.ts': 'export const = 1' })).toMatch(
      new RegExp(`the app ${dir} could not be loaded: [^]*tools/broken\\.ts:1`),
    )
  })
})
