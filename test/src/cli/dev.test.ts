/** `skein dev`: the real binary, files that change, worker processes and an effect that is counted outside. */
import { createServer } from 'node:http'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { deferred } from '../../helpers/deferred.js'
import { objects, place } from './binary.js'

/** A server that bodies ask, and that answers when it is told to: what they do in the world is counted here. */
async function world() {
  const requests: string[] = []
  const release = deferred()
  let came: (() => void) | undefined
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    came?.()
    void release.promise.then(() => response.end('paid'))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    release: () => release.resolve(),
    asked: () =>
      new Promise<void>((resolve) => {
        came = resolve
        if (requests.length > 0) resolve()
      }),
  }
}

function project(url = 'http://127.0.0.1:9', extension = 'ts') {
  const at = place()
  const root = fileURLToPath(new URL('../../../', import.meta.url))
  mkdirSync(join(at.folder, 'node_modules'))
  symlinkSync(root, join(at.folder, 'node_modules/skein'))
  symlinkSync(join(root, 'node_modules/zod'), join(at.folder, 'node_modules/zod'))
  const write = (name: string, text: string): void => writeFileSync(join(at.folder, name), text)
  write('words.mjs', `export const version = 'one'`)
  write('more.mjs', `export const more = ''`)
  const app = join(at.folder, `app.${extension}`)
  write(
    `app.${extension}`,
    `import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'
import { version } from './words.mjs'
import { more } from './more.mjs'
export const model = defineModel({ name: 'm', model: scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  return last?.role === 'tool' ? version + ' says: ' + last.text : { calls: [{ tool: 'pay', args: {} }] }
}) })
export const prompt = definePrompt({ name: 'p', prompt: 'You pay.' + more, model: 'm', tools: ['pay'] })
export const agent = defineAgent({ name: 'clerk', type: 'ai_human', sideA: { prompt: 'p' } })
export const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  args: z.object({}),
  sideEffect: true,
  async execute({ idempotencyKey }) {
    const answer = await fetch('${url}/' + version + '?' + idempotencyKey)
    return (await answer.text()) + ' by ' + version
  },
})
`,
  )
  return { ...at, app, write }
}

it('E6: an edit while an effect runs: it is done once and kept, the turn goes on with the new version', async () => {
  const { url, requests, release, asked } = await world()
  const { app, write, start, skein } = project(url)
  const dev = start(['dev', app])
  await dev.says('watching 3 files')
  const turn = skein(['run', app, '--agent', 'clerk', '--thread', 't1', 'go'])
  await asked()
  write('words.mjs', `export const version = 'two'`)
  await dev.says('words.mjs changed · reloaded in ')
  release()
  expect(await turn).toMatchObject({ code: 0, stdout: 'two says: paid by one\n' })
  expect(requests).toHaveLength(1)
  // A mistake is told with its place, and the version before goes on.
  write('more.mjs', `export const more = ''\nexport const = 5`)
  await dev.says('more.mjs:2:14: ')
  await dev.says('the version before goes on')
  expect(await skein(['send', 't1', 'go', '--wait'])).toMatchObject({
    stdout: 'two says: paid by two\n',
  })
  write('more.mjs', `export const more = ''\n\nthrow new Error('not ready')`)
  await dev.says('more.mjs:3:7: not ready')
  write('more.mjs', `export const more = ' Quickly.'`)
  await dev.says('more.mjs changed · reloaded in ')
  dev.child.kill('SIGINT')
  const { code, stdout } = await dev.ended
  expect({ code, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({ code: 130, last: 'stopped' })
})

it('E6: kill -9 after a reload, while an effect runs: it is not done again, and the thread goes on', async () => {
  const { url, requests, release, asked } = await world()
  const { app, write, start, skein } = project(url)
  const dev = start(['dev', app])
  await dev.says('watching')
  await skein(['send', (await skein(['create', 'clerk'])).stdout.trim(), 'go'])
  await asked()
  write('words.mjs', `export const version = 'two'`)
  await dev.says('words.mjs changed · reloaded in ')
  dev.child.kill('SIGKILL')
  await dev.ended
  release()
  const again = start(['dev', app])
  await again.says('(clerk) completed')
  again.child.kill('SIGTERM')
  expect(await again.ended).toMatchObject({ code: 143 })
  expect(requests).toHaveLength(1)
  const [thread] = objects((await skein(['ps', '--json'])).stdout).map(({ threads }) => threads)
  expect(thread).toEqual([expect.objectContaining({ status: 'idle' })])
})

it('E6: an app that does not load at the start is waited for; other mistakes end the command', async () => {
  const { app, write, start, skein, folder } = project(undefined, 'mjs')
  const good = readFileSync(app, 'utf8')
  write('app.mjs', `${good}\nthrow new Error('not yet')`)
  const dev = start(['dev', app, '--json'])
  await dev.says('"type":"refused"')
  write('app.mjs', good)
  await dev.says('"type":"watching"')
  write('words.mjs', `export const version = 'two'`)
  await dev.says('"type":"reloaded"')
  dev.child.kill('SIGTERM')
  const { code, stdout, stderr } = await dev.ended
  expect(code).toBe(143)
  expect(objects(`${stdout}${stderr}`).filter(({ note }) => note === undefined)).toEqual([
    expect.objectContaining({
      type: 'refused',
      files: [],
      error: expect.objectContaining({
        code: 'APP_NOT_LOADED',
        message: expect.stringMatching(/app\.mjs:\d+:7: not yet/),
      }),
    }),
    expect.objectContaining({ type: 'serving', agents: ['clerk'] }),
    {
      type: 'watching',
      files: [app, join(folder, 'more.mjs'), join(folder, 'words.mjs')].map((path) => expect.stringContaining(path)),
    },
    { type: 'page', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/ui\/$/) },
    {
      type: 'reloaded',
      files: [expect.stringContaining('words.mjs')],
      ms: expect.any(Number),
      awake: 0,
      agents: ['clerk'],
    },
    { type: 'stopping' },
    { type: 'stopped' },
  ])
  expect(await skein(['dev', join(folder, 'none.ts')])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('there is no app at'),
  })
  expect(await skein(['dev', app, '--limit', 'maxSteps=-3'])).toMatchObject({ code: 4 })
})
