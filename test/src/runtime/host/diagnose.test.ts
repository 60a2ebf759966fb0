/** What is found about the machine, the key, the app and its worker threads, each with something wrong. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { definePrompt } from '../../../../src/agent/define.js'
import { local } from '../../../../src/backend/local/local.js'
import type { Store } from '../../../../src/backend/port.js'
import { diagnose, nodeFinding } from '../../../../src/runtime/diagnose.js'
import type { DiagnoseOptions } from '../../../../src/runtime/diagnose.js'
import { hostTools } from '../../../../src/tools/own/host-tools.js'
import { looseTool, tinyApp } from '../../../helpers/app.js'

/** A store that keeps no key, like NATS. */
const keyless: Store = {
  open: () => Promise.reject(new RangeError('not asked for')),
  examine: async () => ({ findings: [], keepsKey: false }),
}
const key = '0123456789abcdef'.repeat(4)

async function found(options: DiagnoseOptions): Promise<Readonly<Record<string, unknown>>> {
  return Object.fromEntries((await diagnose(options)).map(({ check, ...rest }) => [check, rest]))
}

it('an old Node fails, with the one that is needed', () => {
  expect(nodeFinding('20.19.0')).toMatchObject({ level: 'ok' })
  expect(nodeFinding('24.1.0')).toMatchObject({ level: 'ok' })
  for (const old of ['18.20.4', '20.18.3'])
    expect(nodeFinding(old)).toMatchObject({
      level: 'fail',
      says: `this is Node ${old}`,
      advice: expect.stringContaining('20.19'),
    })
})

it('a key is needed where the store keeps none and the app declares secrets; a weak one fails', async () => {
  const { app } = tinyApp({ script: [] })
  const secret = tinyApp({ script: [], tools: [looseTool('pay', () => 1, { variables: [{ name: 'TOKEN' }] })] }).app
  expect(await found({ backend: keyless, app })).toMatchObject({
    key: { level: 'warn', advice: expect.stringContaining('openssl') },
  })
  expect(await found({ backend: keyless, app: secret })).toMatchObject({ key: { level: 'fail' } })
  expect(await found({ backend: keyless, app: secret, key })).toMatchObject({
    key: { level: 'ok' },
    app: { level: 'ok' },
    workers: { level: 'ok' },
  })
  expect(await found({ backend: keyless, app, key: 'short' })).toMatchObject({
    key: { level: 'fail', says: expect.stringContaining('only 5 characters') },
  })
})

it('C1: an app without agents fails: no thread could be created', async () => {
  const [model, prompt] = [
    tinyApp({ script: [] }).app.find(({ kind }) => kind === 'model'),
    definePrompt({ name: 'p', prompt: '', model: 'scripted', exposeAsTool: true }),
  ]
  const results = await found({ app: [...(model ? [model] : []), prompt] })
  expect(results).toMatchObject({
    app: {
      level: 'fail',
      says: 'it has no agents, so no thread can be created',
      advice: expect.stringContaining('defineAgent'),
    },
    workers: { level: 'ok' },
  })
})

it('an app with mistakes fails with all of them, and the rest is looked at all the same', async () => {
  const results = await found({
    backend: local('/proc'),
    app: [...tinyApp({ script: [] }).app, ...tinyApp({ script: [] }).app],
    key,
  })
  expect(results).toMatchObject({
    node: { level: 'ok' },
    folder: { level: 'fail' },
    key: { level: 'ok' },
    app: { level: 'fail', says: expect.stringContaining('two definitions') },
  })
  expect(results).not.toHaveProperty('workers')
})

it('a store that cannot even be named fails', async () => {
  const { nats } = await import('../../../../src/backend/nats/nats.js')
  expect(
    await found({ backend: nats({ credentials: { credsFile: '/nowhere' } }), app: tinyApp({ script: [] }).app }),
  ).toMatchObject({ store: { level: 'fail', says: expect.stringContaining('/nowhere') } })
})

it('an app that cannot be loaded in a worker fails there; one that can has run a tool', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-diagnose-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const module = (name: string, more: string): string => {
    const path = join(folder, name)
    writeFileSync(
      path,
      `${more}\nexport const model = { kind: 'model', name: 'm', model: { name: 'm', call: async () => { throw new Error('never') } } }
      export const prompt = { kind: 'prompt', name: 'p', prompt: '', model: 'm' }
      export const agent = { kind: 'agent', name: 'a', type: 'ai_human', sideA: { prompt: 'p' } }\n`,
    )
    return path
  }
  const shy = module('shy.mjs', `if (process.pid !== ${process.pid}) throw new Error('only in the host')`)
  expect(await found({ app: shy })).toMatchObject({
    app: { level: 'ok' },
    workers: { level: 'fail', says: expect.stringContaining('only in the host'), advice: expect.any(String) },
  })
  expect(await found({ app: module('fine.mjs', '') })).toMatchObject({
    app: { level: 'ok' },
    workers: { level: 'ok', says: expect.stringContaining('loaded the app') },
  })
})

it('commands that run as the user of the host are told, with what they can read', async () => {
  const { app } = tinyApp({ script: [] })
  const own = process.getuid?.() ?? 0
  const shared = hostTools({ rootDir: '/srv' })
  expect(await found({ backend: keyless, app: [...app, ...shared], env: { SKEIN_KEY: key } })).toMatchObject({
    commands: {
      level: 'warn',
      says: expect.stringMatching(/bash in \/srv .*SKEIN_KEY in the environment/),
      advice: expect.stringMatching(/uid.*SKEIN_KEY_FILE/),
    },
  })
  expect(
    await found({ backend: keyless, app: [...app, ...hostTools({ rootDir: '/srv', uid: own + 1, gid: 1 })], key }),
  ).toMatchObject({ commands: { level: 'ok' } })
  expect(await found({ backend: keyless, app, key })).not.toHaveProperty('commands')
  expect(await found({ backend: keyless, app, env: { SKEIN_KEY: key, SKEIN_KEY_FILE: 'x' } })).toMatchObject({
    key: { level: 'fail', says: expect.stringContaining('both') },
  })
})
