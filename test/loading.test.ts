/** What a process loads of the packages that Skein brings, and when: the heavy ones only where they are used. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Runs in Node's thread of hooks. */
const hooks = (list: string): string => `
  import { appendFileSync } from 'node:fs'
  export async function load(url, context, next) {
    appendFileSync(${JSON.stringify(list)}, url + '\\n')
    return next(url, context)
  }`

const run = (args: readonly string[]): Promise<{ readonly stdout: string }> =>
  promisify(execFile)(process.execPath, ['--no-warnings', ...args], { cwd: root })

/** The modules that a program loads, in order. */
async function modulesOf(program: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'skein-loading-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [list, hooksFile] = [join(folder, 'list'), join(folder, 'hooks.mjs')]
  writeFileSync(hooksFile, hooks(list))
  const register = `import { register } from 'node:module'; register(${JSON.stringify(pathToFileURL(hooksFile).href)})`
  const hooked = ['--import', `data:text/javascript,${encodeURIComponent(register)}`]
  await run([...hooked, '--input-type=module', '-e', program])
  const urls = readFileSync(list, 'utf8').split('\n')
  expect(urls).toContainEqual(expect.stringContaining('dist/src/index.js'))
  return urls
}

/** The packages that a program loads, in order of their names: of node_modules, and of those that Skein carries. */
async function packagesOf(program: string): Promise<readonly string[]> {
  const urls = await modulesOf(program)
  // What several of the carried ones share is in chunks without a name.
  const names = urls.flatMap(
    (url) => /(?:node_modules\/|dist\/vendor\/(?!chunk-))((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [],
  )
  return [...new Set(names)].sort()
}

const app = `
  import { createSkein, defineAgent, defineModel, definePrompt, local, memory } from 'skein'
  const usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }
  const model = { name: 'm', call: async () => ({ text: 'done', calls: [], finish: 'stop', usage }) }
  const app = [
    defineModel({ name: 'main', model }),
    definePrompt({ name: 'p', prompt: 'You help.', model: 'main' }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]`

const turn = `${app}
  const skein = await createSkein({ app, backend: memory() })
  const text = await (await skein.threads.create({ agent: 'helper' })).send('go').text()
  await skein.close()
  if (text !== 'done') throw new Error(text)`

it('E7: importing Skein loads its zod, and a turn the machine and the packing of records besides', async () => {
  expect(await packagesOf(`import 'skein'`)).toEqual(['zod.js'])
  expect(await packagesOf(turn)).toEqual(['msgpackr-pack.js', 'xstate.js', 'zod.js'])
})

it('O1: where nobody observes, nothing of tracing, metrics and logs is loaded', async () => {
  const chunks = (await modulesOf(turn)).filter((url) => url.includes('/dist/lib/'))
  // Each module of a chunk has its name above it.
  const modules = chunks.flatMap((url) => readFileSync(fileURLToPath(url), 'utf8').match(/\/\/! \S+\.js$/gm) ?? [])
  expect(modules).toContain('//! src/runtime/resident/resident.js')
  expect(modules.filter((name) => /\/observe[/.]/.test(name))).toEqual([])
})

it('E7: a schema is compiled when it has parsed for a while, and parses alike before and after', async () => {
  const program = `
    const { strictObject, string } = await import('./dist/vendor/zod.js')
    const schema = strictObject({ a: string(), b: string().optional() })
    const compiled = []
    const Made = Function
    globalThis.Function = function (...parts) {
      compiled.push(parts.at(-1))
      return new Made(...parts)
    }
    const told = []
    for (let count = 0; count < 40; count++) {
      const { data } = schema.safeParse({ a: 'x' })
      const { error } = schema.safeParse({ a: 1, c: 2 })
      told.push(JSON.stringify([data, error.issues]))
      if (count === 7) console.log(compiled.length)
    }
    console.log(compiled.length, new Set(told).size, told[0])`
  const { stdout } = await run(['--input-type=module', '-e', program])
  const [first, last = ''] = stdout.split('\n')
  expect(first).toBe('0')
  expect(last).toMatch(/^1 1 .*invalid_type.*unrecognized_keys/)
})

it('E5, E7: what speaks MCP is loaded when it is used, not with the server', async () => {
  const loaded = await packagesOf(`import 'skein'; import 'skein/server'`)
  expect(loaded).toEqual(['@hono/node-server', 'hono', 'zod.js'])
})

it('E7: where no SQLite is installed, the error says what to do', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-loading-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const without = `${app}
    import Module from 'node:module'
    const { getBuiltinModule } = process
    process.getBuiltinModule = (name) => (name === 'node:sqlite' ? undefined : getBuiltinModule(name))
    const resolve = Module._resolveFilename
    Module._resolveFilename = (name, ...rest) => {
      if (name.startsWith('@libsql/')) throw new Error('Cannot find module ' + name)
      return resolve(name, ...rest)
    }
    await createSkein({ app, backend: local(${JSON.stringify(join(folder, 'store'))}) }).catch((thrown) =>
      console.log(thrown.code, thrown.message),
    )`
  const { stdout } = await run(['--input-type=module', '-e', without])
  expect(stdout).toMatch(/^STORE_FAILED .*no binary for \w+-\w+ here.*optional dependencies.*22\.13/)
})
