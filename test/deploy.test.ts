/**
 * The files of deploy/, as far as they can be tried without Docker: the steps of the image in an empty folder, and the
 * commands that the services begin with, which the command line must take.
 */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { asking } from './helpers/served.js'
import { app, launch, objects, place } from './src/cli/binary.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8')
const compose = readFileSync(join(root, 'deploy/compose.yaml'), 'utf8')
const listAfter = (text: string, word: string): readonly string[] =>
  JSON.parse((new RegExp(`^ *${word}:? *(\\[.*\\])$`, 'm').exec(text)?.[1] ?? '[]').replaceAll("'", '"'))

it('H4: the entry of the image is the program of the package, and runs what is copied in, without a key of its own', async () => {
  const manifest: { bin: { skein: string } } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const entry = listAfter(dockerfile, 'ENTRYPOINT')
  expect(entry).toEqual(['node', join('node_modules/skein', manifest.bin.skein)])
  // As after COPY and `npm ci`: the app, and the package among those of the project.
  const { folder, skein } = place()
  const work = join(folder, 'srv')
  mkdirSync(join(work, 'node_modules'), { recursive: true })
  symlinkSync(root, join(work, 'node_modules/skein'))
  symlinkSync(join(root, 'node_modules/zod'), join(work, 'node_modules/zod'))
  mkdirSync(join(work, 'app'))
  cpSync(app, join(work, 'app', 'index.ts'))
  const { key, entry: made } =
    objects((await skein(['keys', 'new', 'shop', '--scope', 'admin', '--json'])).stdout)[0] ?? {}
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [made] }))
  const command = listAfter(dockerfile, 'CMD').map((word) =>
    word === '/run/secrets/skein-keys' ? join(folder, 'keys.json') : word,
  )
  const args = [
    ...entry.slice(1).map((file) => join(work, file)),
    ...command,
    '--port',
    '0',
    '--store',
    join(folder, 's'),
  ]
  const local = args.map((word) => (word === 'app' ? join(work, 'app/index.ts') : word))
  const server = launch(process.execPath, local, {})
  let said = ''
  server.child.stdout?.on('data', (text: string) => (said += text))
  await server.says('listening on')
  const url = `http://127.0.0.1:${/:(\d+)/.exec(said.slice(said.indexOf('listening on')))?.[1]}`
  const { ask } = asking(url)
  expect((await ask('/ready', { key: '' })).status).toBe(200)
  expect((await ask('/threads', { key: '' })).status).toBe(401)
  const body = { agent: 'echo', message: { text: 'hi' } }
  expect((await ask('/threads?wait=60000', { key: String(key), body })).body).toMatchObject({
    result: { text: 'you said: hi' },
  })
  server.child.kill('SIGTERM')
  expect((await server.ended).code).toBe(143)
})

it('H4: the services of the compose file begin with commands that there are, and wait for each other', async () => {
  const { skein } = place()
  const services = compose.split(/^ {2}(?=\w+:$)/m).filter((text) => /^(host|server):/.test(text))
  expect(services).toHaveLength(2)
  for (const text of services) {
    const [name = '', ...rest] = listAfter(text, 'command')
    const help = (await skein([name, '--help'])).stdout
    expect(rest.filter((word) => word.startsWith('--') && !help.includes(word))).toEqual([])
    expect(text).toContain('depends_on: [nats]')
    expect(text).toMatch(/stop_grace_period: 60s/)
  }
  for (const variable of ['SKEIN_NATS', 'SKEIN_NAMESPACE', 'SKEIN_KEY']) {
    expect(compose).toContain(`${variable}:`)
    expect((await skein(['--help'])).stdout).toContain(variable)
  }
  // What is mounted is there.
  for (const [, path = ''] of compose.matchAll(/- (\.\.\/[\w.]+):/g))
    expect(readFileSync(join(dirname(join(root, 'deploy/compose.yaml')), path), 'utf8')).toContain('jetstream')
})
