/** Where a command works, by options and environment; and what is shown of it. */
import { expect, it } from 'vitest'
import { rowsOf } from '../../../src/cli/commands/hosts.js'
import { locateStore } from '../../../src/cli/store.js'
import { commandLine } from '../../../src/cli/store.js'

const url = 'nats://127.0.0.1:4222'

it('C1: an option beats the environment, and NATS beats a folder there', async () => {
  expect((await locateStore({}, {})).name).toBe('.skein')
  expect((await locateStore({}, { SKEIN_STORE: 'a' })).name).toBe('a')
  expect((await locateStore({ store: 'b' }, { SKEIN_STORE: 'a', SKEIN_NATS: url })).name).toBe('b')
  expect((await locateStore({}, { SKEIN_STORE: 'a', SKEIN_NATS: url })).name).toBe(`namespace skein on ${url}`)
  expect((await locateStore({ nats: url }, { SKEIN_STORE: 'a', SKEIN_NAMESPACE: 'n' })).name).toBe(
    `namespace n on ${url}`,
  )
  expect((await locateStore({}, { SKEIN_NATS: '' })).shared).toBe(false)
})

it('C1: what contradicts itself is refused', async () => {
  await expect(locateStore({ store: 'a', nats: url }, {})).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining('give one of them'),
  })
  await expect(locateStore({ namespace: 'n' }, {})).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining('--namespace is for NATS'),
  })
  await expect(locateStore({ store: 'a', tlsCa: 'f' }, {})).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining('--tls-ca is for NATS'),
  })
})

it('a command is offered with the options that were given, and never with a password or a token', async () => {
  const place = await locateStore(
    { nats: 'nats://me:s3cret@a:1,nats://tok3n@b:2', namespace: 'n', creds: 'my file', monitor: 'http://a:8222' },
    { SKEIN_NATS_CA: 'ca.pem' },
  )
  expect(commandLine(place, 'skein', 'tail', 't1')).toBe(
    `skein tail t1 --nats 'nats://me:…@a:1,nats://…@b:2' --namespace n --creds 'my file' --monitor http://a:8222`,
  )
  expect(place.name).toBe('namespace n on nats://me:…@a:1,nats://…@b:2')
  expect(commandLine(await locateStore({}, { SKEIN_NATS: url }), 'skein', 'ps')).toBe('skein ps')
})

it('C1: files of credentials and certificates reach the connection, by option and by environment', async () => {
  for (const place of [
    await locateStore({ nats: url, creds: '/no/creds' }, {}),
    await locateStore({}, { SKEIN_NATS: url, SKEIN_NATS_CREDS: '/no/creds' }),
  ]) {
    await expect((await place.source()).open('client')).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('/no/creds'),
    })
  }
  for (const [option, variable] of [
    ['tlsCa', 'SKEIN_NATS_CA'],
    ['tlsCert', 'SKEIN_NATS_CERT'],
    ['tlsKey', 'SKEIN_NATS_KEY'],
  ] as const) {
    for (const place of [
      await locateStore({ nats: url, [option]: `/no/${option}` }, {}),
      await locateStore({}, { SKEIN_NATS: url, [variable]: `/no/${option}` }),
    ]) {
      await expect((await place.source()).open('client')).rejects.toMatchObject({
        code: 'BAD_OPTION',
        message: expect.stringContaining(`/no/${option}`),
      })
    }
  }
})

it('C1: hosts are a row each, whatever they say of themselves', () => {
  const host = {
    id: 'x',
    name: 'pear/12',
    since: new Date(2026, 1, 3, 4, 5, 6).getTime(),
    skein: '0.1.0',
    records: 2,
    app: 'shop',
    appVersion: '1.4.0',
    awake: 12,
    busy: 3,
    load: 0.256,
    partitions: [1, 2],
  }
  const { app: _, appVersion: __, ...nameless } = host
  expect(rowsOf([host, { ...nameless, name: '\u001B[2J', skein: '' }], 64).slice(1)).toEqual([
    ['pear/12', '2026-02-03 04:05:06', 'shop 1.4.0', '0.1.0 (records 2)', '2 of 64', '12 awake, 3 at work', '26 %'],
    [String.raw`\u001b[2J`, '2026-02-03 04:05:06', '-', '? (records 2)', '2 of 64', '12 awake, 3 at work', '26 %'],
  ])
})

it('C1: the key file goes with the place, and with the commands that are offered for it', async () => {
  expect((await locateStore({}, { SKEIN_KEY_FILE: '/run/key' })).key).toEqual({})
  for (const place of [
    await locateStore({ store: 'a', keyFile: '/run/key' }, {}),
    await locateStore({ nats: url, keyFile: '/run/key' }, {}),
  ]) {
    expect(place.key).toEqual({ keyFile: '/run/key' })
    expect(commandLine(place, 'skein', 'ps')).toMatch(/^skein ps --(store a|nats \S+) --key-file \/run\/key$/)
  }
})
