/** Apps from files and from what is at hand. */
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createState } from '../../../../actors/thread/state.js'
import { definePrompt } from '../../../../src/agent/define.js'
import { systemClock } from '../../../../src/core/clock.js'
import { connectMcp } from '../../../../src/mcp/connect.js'
import { Environments } from '../../../../src/runtime/secrets/environment.js'
import { profileOf } from '../../../../src/runtime/identity.js'
import { loadApp } from '../../../../src/runtime/app/load.js'
import { createAgentSetup } from '../../../../src/runtime/resolve/agent-setup.js'
import { toLanding } from '../../../../src/runtime/resolve/model-reply.js'
import { Secrets } from '../../../../src/runtime/secrets/secrets.js'
import { fromMcp } from '../../../../src/tools/foreign/server.js'
import type { McpDefinition } from '../../../../src/tools/foreign/server.js'
import { looseTool, tinyApp } from '../../../helpers/app.js'

const source = `
  export const model = { kind: 'model', name: 'fast', model: () => { throw new Error('not now') } }
  export const prompt = { kind: 'prompt', name: 'lead', prompt: 'You lead.', model: 'fast' }
  export const agent = { kind: 'agent', name: 'team', type: 'ai_human', sideA: { prompt: 'lead' } }
  export const version = 5
  export default 'not a definition'
`

describe('loadApp', () => {
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'skein-app-'))
  })
  afterEach(() => rm(dir, { recursive: true, force: true }))
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(dir, name), text)
    return join(dir, name)
  }

  it.each([
    ['app.mjs', "\nconst port = 1\nthrow new Error('no database')\n", 'app.mjs:3:7: no database'],
    [
      'app.ts',
      "interface A { b: 1 }\nconst a: A = { b: 1 }\nfunction f(): never {\n  throw new Error('no ' + a.b)\n}\nf()",
      'app.ts:4:9: no 1',
    ],
    ['uses.ts', "import { b } from './part.ts'\nexport const c = b", 'part.ts:2:7: no part'],
  ])('D2: %s that throws while it is loaded is named with file and line', async (name, text, says) => {
    await file('part.ts', "const no = 'no part'\nthrow new Error(no)\nexport const b = 1")
    await expect(loadApp(await file(name, text))).rejects.toMatchObject({
      code: 'APP_NOT_LOADED',
      message: expect.stringMatching(new RegExp(`could not be loaded: \\S*/${says}$`)),
    })
  })

  it('D2: the line is that of the source in a project, too, and where another than Node writes the stacks', async () => {
    await mkdir(join(dir, 'node_modules'))
    const path = await file('app.ts', "interface A { b: 1 }\nthrow new Error('first')\n")
    await expect(loadApp(path)).rejects.toThrow(`could not be loaded: ${path}:2:7: first`)
    await expect(loadApp(path)).rejects.toThrow(`could not be loaded: ${path}:2:7: first`)
  })

  it('D2: a mistake in what an app defines has its line, one of the app itself has none', async () => {
    const door = pathToFileURL(fileURLToPath(new URL('../../../../src/index.ts', import.meta.url))).href
    const text = `import { local } from ${JSON.stringify(door)}\n\nexport const store = local('')\n`
    await expect(loadApp(await file('bad.mjs', text))).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/bad\.mjs:3:22: local\(dir, options\)/),
    })
    const nothing = await loadApp(await file('nothing.mjs', 'export const a = 1')).catch((thrown: unknown) => thrown)
    expect(nothing).toMatchObject({
      code: 'APP_NOT_LOADED',
      message: expect.stringMatching(/^\S+nothing\.mjs exports no definitions/),
    })
  })

  it('a module by path or URL; nothing of it runs but the module itself', async () => {
    const path = await file('app.mjs', source)
    expect([...(await loadApp(path)).agents.keys()]).toEqual(['team'])
    expect([...(await loadApp(pathToFileURL(path))).prompts.keys()]).toEqual(['lead'])
    // As import.meta.resolve gives it.
    expect([...(await loadApp(pathToFileURL(path).href)).prompts.keys()]).toEqual(['lead'])
    expect(profileOf(pathToFileURL(path).href, { clock: systemClock })).toEqual({
      ...profileOf(path, { clock: systemClock }),
      since: expect.any(Number),
    })
    for (const elsewhere of ['https://a.example/app.js', new URL('https://a.example/app.js')])
      await expect(loadApp(elsewhere)).rejects.toMatchObject({
        code: 'APP_NOT_LOADED',
        message: expect.stringContaining('begins with file:'),
      })
  })

  it('TypeScript too', async () => {
    const path = await file(
      'app.ts',
      `${source}\nconst typed: number = 1\nexport const list: unknown[] = [{ kind: 'prompt', name: 'other', ` +
        `prompt: String(typed), model: 'fast' }]`,
    )
    expect([...(await loadApp(path)).prompts.keys()].sort()).toEqual(['lead', 'other'])
  })

  it('TypeScript that imports packages, also where nothing can be written beside them', async () => {
    await mkdir(join(dir, 'node_modules'))
    await symlink(
      fileURLToPath(new URL('../../../../node_modules/zod', import.meta.url)),
      join(dir, 'node_modules', 'zod'),
    )
    const text = `${source}
      import { basename } from 'node:path'
      import { defineTool } from 'skein'
      import { scriptedModel } from 'skein/testing'
      import { z } from 'zod'
      export const spoken = { kind: 'model', name: 'spoken', model: scriptedModel(['hello']) }
      export const look = defineTool({ name: 'look', description: basename('a/look'), args: z.object({ at: z.string() }), execute: () => 1 })`
    const cached = await loadApp(await file('app.ts', text))
    expect(cached.parameters.get('look')).toMatchObject({ required: ['at'] })
    expect(await readdir(join(dir, 'node_modules', '.cache', 'skein'))).toHaveLength(1)

    await rm(join(dir, 'node_modules', '.cache'), { recursive: true })
    await writeFile(join(dir, 'node_modules', '.cache'), 'in the way')
    expect([...(await loadApp(await file('other.ts', text))).models.keys()].sort()).toEqual(['fast', 'spoken'])
    await expect(loadApp(await file('missing.ts', `import 'no-such-package'`))).rejects.toMatchObject({
      code: 'APP_NOT_LOADED',
      message: expect.stringContaining('no-such-package'),
    })
  })

  it('definitions at hand, as a list or as an imported module', async () => {
    const { app } = tinyApp({ script: [] })
    expect([...(await loadApp(app)).agents.keys()]).toEqual(['helper'])
    expect([...(await loadApp({ all: app, other: 5 })).agents.keys()]).toEqual(['helper'])
  })

  it('a definition that is also the default export is one', async () => {
    const twice = source.replace("export default 'not a definition'", 'export default agent')
    expect([...(await loadApp(await file('twice.mjs', twice))).agents.keys()]).toEqual(['team'])
    const list = source.replace("export default 'not a definition'", 'export default [agent, prompt, model]')
    expect([...(await loadApp(await file('list.ts', list))).prompts.keys()]).toEqual(['lead'])
  })

  it('an export that looks like a definition and has no kind is left out, and that is said', async () => {
    const plain =
      `\nexport const dig = { name: 'dig', description: '', args: {}, execute: () => 1 }\nexport ` +
      `const list = [{ prompt: 'You lead.', model: 'fast' }]`
    const path = await file('plain.mjs', source + plain)
    expect((await loadApp(path)).warnings).toEqual([
      `${path}: the export dig looks like a tool: wrap it in defineTool; it is left out`,
      `${path}: the export list looks like a prompt: wrap it in definePrompt; it is left out`,
    ])
    const named = await file(
      'named.mjs',
      `${source}${plain}\nexport const other = { kind: 'prompt', name: 'other', prompt: '', model: 'fast', tools: ` +
        `['dig'] }`,
    )
    await expect(loadApp(named)).rejects.toMatchObject({
      code: 'UNKNOWN_TOOL',
      message:
        `${named} has a mistake:\n- prompt "other" names the tool "dig"; the export dig looks like a tool: ` +
        `wrap it in defineTool`,
    })
    const alone = await file('alone.mjs', plain)
    await expect(loadApp(alone)).rejects.toMatchObject({
      code: 'APP_NOT_LOADED',
      message: expect.stringContaining(
        `${alone} exports no definitions: the export dig looks like a tool: wrap it in defineTool`,
      ),
    })
  })

  it('servers of tools are connected before the app is checked', async () => {
    const app = [
      ...tinyApp({ script: [] }).app,
      fromMcp({ name: 'files', command: 'x' }),
      definePrompt({ name: 'p', prompt: '', model: 'scripted', tools: ['fetch'] }),
    ]
    const seen: unknown[] = []
    const connect = async (servers: readonly McpDefinition[]) => {
      seen.push(...servers.map(({ name }) => name))
      return [looseTool('fetch', () => 1)]
    }
    expect([...(await loadApp(app, { connectMcp: connect })).tools.keys()]).toEqual(['fetch'])
    expect(seen).toEqual(['files'])
    await expect(loadApp(app)).rejects.toMatchObject({
      code: 'APP_NOT_LOADED',
      message: expect.stringContaining('names the MCP server "files"'),
    })
    await expect(loadApp(app, { connectMcp: async () => [looseTool('response', () => 1)] })).rejects.toMatchObject({
      code: 'RESERVED_NAME',
    })
  })

  it('servers that do not come up are a list, one to a line', async () => {
    const gone = (name: string) => fromMcp({ name, command: `/no/such/${name}` })
    const connectAll = async (servers: readonly McpDefinition[]) => (await connectMcp(servers)).tools
    await expect(loadApp([gone('one'), gone('two')], { connectMcp: connectAll })).rejects.toMatchObject({
      code: 'APP_NOT_LOADED',
      message: expect.stringMatching(
        /^2 MCP servers failed:\n- the MCP server "one" .*ENOENT\n- the MCP server "two" .*ENOENT$/,
      ),
    })
  })

  it('what cannot be loaded says so, with its path', async () => {
    const empty = await file('empty.mjs', 'export const nothing = 1')
    const broken = await file('broken.mjs', 'export const = 1')
    const thrower = await file('thrower.ts', 'throw new Error("no luck")')
    for (const path of [join(dir, 'missing.ts'), empty, broken, thrower]) {
      await expect(loadApp(path)).rejects.toMatchObject({
        code: 'APP_NOT_LOADED',
        message: expect.stringContaining(path),
      })
    }
  })

  it('D1: a mistake in the app names the file', async () => {
    const path = await file(
      'bad.mjs',
      `${source}\nexport const bad = { kind: 'prompt', name: 'shared', prompt: '', model: 'fast' }`,
    )
    await expect(loadApp(path)).rejects.toMatchObject({ code: 'RESERVED_NAME', message: expect.stringContaining(path) })
  })
})

describe('briefs', () => {
  it('an unknown agent is told with those there are', async () => {
    const app = await loadApp(tinyApp({ script: [] }).app)
    expect(() => createAgentSetup(app, 'nobody')).toThrow(
      expect.objectContaining({ code: 'UNKNOWN_AGENT', message: expect.stringContaining('it has: helper') }),
    )
  })

  it('what the provider does not price is priced by the definition', async () => {
    const { app: definitions } = tinyApp({ script: [] })
    const app = await loadApp(
      definitions.map((definition) =>
        definition.kind === 'model' ? { ...definition, costPerMillion: { inputUsd: 2, outputUsd: 10 } } : definition,
      ),
    )
    const brief = createAgentSetup(app, 'helper')
    const usage = { inputTokens: 1_000_000, outputTokens: 500_000, costUsd: 0 }
    const landed = (own: typeof usage) =>
      toLanding(
        {
          app,
          childLimits: { maxParallelChildren: 1, maxChildren: 9, maxDepth: 1 },
          envs: new Environments({ app, instance: {}, secrets: new Secrets({ source: undefined }) }),
        },
        brief,
        {
          step: 1,
          state: createState('t'),
          reply: { text: '', calls: [], finish: 'stop', usage: own },
        },
      )
    expect(landed(usage)).toMatchObject({ reply: { usage: { costUsd: 7 } } })
    expect(landed({ ...usage, costUsd: 1 })).toMatchObject({ reply: { usage: { costUsd: 1 } } })
  })
})
