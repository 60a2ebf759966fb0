/** Secrets at rest: sealed for one place, under a key of their tree, under a master key that can be rotated. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomBytes, webcrypto } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isSkeinError } from '../../../../src/core/failure.js'
import type { SkeinError } from '../../../../src/core/failure.js'
import { DataKeys } from '../../../../src/runtime/secrets/data-keys.js'
import { openVault } from '../../../../src/runtime/secrets/vault.js'

const key = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'
const otherKey = key.split('').reverse().join('')
const place = { root: 'thread-1', name: 'API_KEY' }
const value = 'hunter2 hünter2 🗝'

function thrownBy(run: () => unknown): SkeinError {
  try {
    run()
  } catch (thrown) {
    if (isSkeinError(thrown)) return thrown
    throw thrown
  }
  throw new Error('nothing was thrown')
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** The text with each character replaced, in turn, by others that may stand there: also by such as change one bit. */
function tampered(text: string): readonly string[] {
  return text.split('').flatMap((char, at) => {
    const index = alphabet.indexOf(char)
    const others =
      index === -1 ? ['A', ''] : [1, 2, 4, 8, 16, 32].map((bit) => alphabet.charAt(index ^ bit)).concat('', '.', '=')
    return others.map((other) => text.slice(0, at) + other + text.slice(at + 1))
  })
}

describe('sealed values', () => {
  it('come back as they were, for any text and place', async () => {
    const vault = await openVault({ key })
    const { wrapped } = vault.createDataKey()
    const anyText = fc.string({ unit: 'binary', maxLength: 200 })
    fc.assert(
      fc.property(anyText, fc.string({ unit: 'binary' }), fc.string(), (text, root, name) => {
        const sealed = vault.seal(wrapped, text, { root, name })
        expect(sealed).toMatch(/^v1\.[\w-]+$/)
        expect(vault.open([wrapped], sealed, { root, name })).toBe(text)
      }),
    )
    const long = 'long '.repeat(100_000)
    expect(vault.open([wrapped], vault.seal(wrapped, long, place), place)).toBe(long)
  })

  it('the same text sealed twice is two texts', async () => {
    const vault = await openVault({ key })
    const { wrapped } = vault.createDataKey()
    expect(new Set(Array.from({ length: 100 }, () => vault.seal(wrapped, value, place).slice(0, 19))).size).toBe(100)
    expect(vault.createDataKey().wrapped).not.toBe(wrapped)
  })

  it('half of a surrogate pair is refused, for another text would come back', async () => {
    const vault = await openVault({ key })
    const { wrapped } = vault.createDataKey()
    expect(thrownBy(() => vault.seal(wrapped, 'abc\uD800def', place))).toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/^the value of API_KEY is not well-formed/),
    })
  })

  it('do not open under another name or in another tree', async () => {
    const vault = await openVault({ key })
    const { wrapped } = vault.createDataKey()
    const places = fc.record({ root: fc.string({ maxLength: 3 }), name: fc.string({ maxLength: 3 }) })
    fc.assert(
      fc.property(places, places, (here, there) => {
        fc.pre(here.root !== there.root || here.name !== there.name)
        const sealed = vault.seal(wrapped, value, here)
        expect(() => vault.open([wrapped], sealed, there)).toThrow(/was sealed for another name or tree/)
      }),
    )
    const sealed = vault.seal(wrapped, value, { root: 'ab', name: 'c' })
    expect(() => vault.open([wrapped], sealed, { root: 'a', name: 'bc' })).toThrow(/was sealed for another/)
    expect(() => vault.open([vault.createDataKey().wrapped], sealed, { root: 'ab', name: 'c' })).toThrow(
      /was sealed for another/,
    )
  })

  it('do not open when any bit of them or of the wrapped key is another; no error holds the value', async () => {
    const vault = await openVault({ key })
    const { wrapped } = vault.createDataKey()
    // Lengths that leave unused bits in the last character, and one that does not.
    for (const text of ['12345678', '123456789', '1234567890']) {
      const sealed = vault.seal(wrapped, text, place)
      expect(vault.open([wrapped], sealed, place)).toBe(text)
      for (const bad of [
        ...tampered(sealed),
        `${sealed}A`,
        `${sealed}=`,
        `${sealed} `,
        sealed.slice(0, 20),
        'v1.',
        'v1',
        '',
        wrapped,
      ]) {
        const error = thrownBy(() => vault.open([wrapped], bad, place))
        expect(['SECRET_UNREADABLE', 'RECORD_FROM_FUTURE']).toContain(error.code)
        expect(inspect(error)).not.toContain(text)
      }
    }
    const sealed = vault.seal(wrapped, value, place)
    for (const bad of [...tampered(wrapped), `${wrapped}A`, `${wrapped}.A`, wrapped.slice(0, 30), 'v1.', '', sealed]) {
      const error = thrownBy(() => vault.open([bad], sealed, place))
      expect(['SECRET_UNREADABLE', 'RECORD_FROM_FUTURE']).toContain(error.code)
    }
  })

  it('opens with whichever key of the tree it was sealed with', async () => {
    const vault = await openVault({ key })
    const keys = [vault.createDataKey().wrapped, vault.createDataKey().wrapped]
    for (const wrapped of keys) expect(vault.open(keys, vault.seal(wrapped, value, place), place)).toBe(value)
    expect(thrownBy(() => vault.open([], vault.seal(keys[0] ?? '', value, place), place)).code).toBe(
      'SECRET_UNREADABLE',
    )
  })

  it('a form of a later Skein says that it is one', async () => {
    const vault = await openVault({ key })
    const { wrapped } = vault.createDataKey()
    expect(thrownBy(() => vault.open([wrapped], 'v2.abc', place))).toMatchObject({
      code: 'RECORD_FROM_FUTURE',
      message: expect.stringMatching(/API_KEY of the tree thread-1 has the form v2.*upgrade Skein/),
    })
    expect(thrownBy(() => vault.seal('v12.abc', value, place))).toMatchObject({ code: 'RECORD_FROM_FUTURE' })
  })
})

describe('the form at rest', () => {
  it('is AES-256-GCM, as another implementation reads it', async () => {
    const vault = await openVault({ key })
    const { wrapped } = vault.createDataKey()
    const sealed = vault.seal(wrapped, value, place)
    const read = async (raw: Uint8Array, box: string, additionalData: string): Promise<Buffer> => {
      const bytes = Buffer.from(box, 'base64url')
      const imported = await webcrypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['decrypt'])
      const algorithm = {
        name: 'AES-GCM',
        iv: bytes.subarray(0, 12),
        additionalData: Buffer.from(additionalData),
        tagLength: 128,
      }
      return Buffer.from(await webcrypto.subtle.decrypt(algorithm, imported, bytes.subarray(12)))
    }
    const dataKey = await read(
      Buffer.from(key, 'hex'),
      wrapped.split('.')[2] ?? '',
      `["skein data key",1,"${vault.keyId}"]`,
    )
    expect(dataKey.length).toBe(32)
    expect(
      (await read(dataKey, sealed.split('.')[1] ?? '', '["skein secret",1,"thread-1","API_KEY"]')).toString(),
    ).toBe(value)
  })

  it('what the first version wrote is read for ever', async () => {
    const vault = await openVault({ key: golden.passphrase })
    expect(vault.keyId).toBe(golden.keyId)
    expect(vault.open([golden.wrapped], golden.sealed, place)).toBe(value)
  })
})

/** Written by version 1; never to be written anew. */
const golden = {
  passphrase: 'correct horse battery stäple',
  keyId: 'c1e690a7f2eefaf9',
  wrapped: 'v1.c1e690a7f2eefaf9.wDvFdPWP9aO-I5NeIlRWZ4xO-yyBP72wB3QE2-7MHpRqjLIY3fllfYSIw7HxNcSV10jbSEy7uCN4xWHs',
  sealed: 'v1.behRXG7kWWDkgpPQHeqgnKfDNSAVUFcv6Yw_z8PQCbdeB77xdUJ8vuK7HimmfaIW1A',
}

describe('master keys', () => {
  it('a wrong key is told apart from damage, by ids', async () => {
    const [vault, other] = await Promise.all([openVault({ key }), openVault({ key: otherKey })])
    const { wrapped } = vault.createDataKey()
    const sealed = vault.seal(wrapped, value, place)
    expect(vault.keyId).toMatch(/^[0-9a-f]{16}$/)
    const error = thrownBy(() => other.open([wrapped], sealed, place))
    expect(error).toMatchObject({ code: 'SECRET_UNREADABLE', data: { needed: vault.keyId, given: other.keyId } })
    expect(error.message).toMatch(/Give the key that they were written with .*SKEIN_KEY/)
    const damaged = wrapped.slice(0, -1) + (wrapped.endsWith('A') ? 'B' : 'A')
    expect(thrownBy(() => vault.open([damaged], sealed, place))).toMatchObject({
      code: 'SECRET_UNREADABLE',
      message: expect.stringMatching(/data key of a tree cannot be read. It is damaged/),
    })
  })

  it('each spelling of 32 bytes is the same key, with or without space around it', async () => {
    const bytes = Buffer.concat([Buffer.from([0xfb, 0xff, 0xfe]), randomBytes(29)])
    const spellings = [
      bytes.toString('hex'),
      bytes.toString('hex').toUpperCase(),
      bytes.toString('base64'),
      bytes.toString('base64').replace('=', ''),
      bytes.toString('base64url'),
      `${bytes.toString('base64url')}=`,
      ` ${bytes.toString('hex')}\n`,
    ]
    const ids = await Promise.all(spellings.map(async (spelling) => (await openVault({ key: spelling })).keyId))
    expect(new Set(ids).size).toBe(1)
  })

  it('a passphrase is one key, however its letters are composed; another is another', async () => {
    const ids = await Promise.all(
      ['sixteen lettérs!', 'sixteen lette\u0301rs!\n', 'Sixteen lettérs!'].map(
        async (phrase) => (await openVault({ key: phrase })).keyId,
      ),
    )
    expect(ids[0]).toBe(ids[1])
    expect(ids[0]).not.toBe(ids[2])
  })

  it.each([
    ['', /is empty/],
    ['  \n', /is empty/],
    ['fifteen letters', /has only 15 characters/],
    ['🗝'.repeat(15), /has only 15 characters/],
    ['ab'.repeat(20), /very few different characters/],
    ['0'.repeat(64), /very few different bytes/],
    ['A'.repeat(43), /very few different bytes/],
  ])('%j is refused, and not repeated', async (weak, why) => {
    const error: unknown = await openVault({ key: weak }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'BAD_OPTION', message: expect.stringMatching(why) })
    expect(error).toMatchObject({ message: expect.stringContaining('openssl rand -hex 32') })
    expect(inspect(error)).not.toContain(weak.trim() || 'nothing to repeat')
  })

  it('without a key there is no vault', async () => {
    await expect(openVault({})).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('SKEIN_KEY'),
    })
  })
})

describe('rotation', () => {
  it('changes wrapped keys alone, and the old key reads nothing of them', async () => {
    const [old, fresh] = await Promise.all([openVault({ key }), openVault({ key: otherKey })])
    const { wrapped } = old.createDataKey()
    const sealed = old.seal(wrapped, value, place)
    const rotated = old.rewrap(wrapped, fresh)
    old.close()
    expect(fresh.open([rotated], sealed, place)).toBe(value)
    expect(fresh.open([rotated], fresh.seal(rotated, 'set later', place), place)).toBe('set later')
    const again = await openVault({ key })
    expect(thrownBy(() => again.open([rotated], sealed, place)).code).toBe('SECRET_UNREADABLE')
  })

  it('again changes nothing; a third key and damage are refused', async () => {
    const [old, fresh, third] = await Promise.all([
      openVault({ key }),
      openVault({ key: otherKey }),
      openVault({ key: randomBytes(32).toString('hex') }),
    ])
    const { wrapped } = old.createDataKey()
    const rotated = old.rewrap(wrapped, fresh)
    expect(old.rewrap(rotated, fresh)).toBe(rotated)
    expect(thrownBy(() => third.rewrap(wrapped, fresh)).data).toEqual({ needed: old.keyId, given: third.keyId })
    for (const from of [wrapped, rotated]) {
      for (const bad of tampered(from))
        expect(['SECRET_UNREADABLE', 'RECORD_FROM_FUTURE']).toContain(thrownBy(() => old.rewrap(bad, fresh)).code)
    }
  })
})

describe('keys in memory', () => {
  it('the one unused for longest goes, and what goes is wiped', () => {
    const keys = new DataKeys(2)
    const [a, b, c] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 3)] as const
    keys.add('a', a)
    keys.add('b', b)
    expect(keys.find('a')).toBe(a)
    expect(keys.add('c', c)).toBe(c)
    expect(keys.find('b')).toBeUndefined()
    expect(b).toEqual(Buffer.alloc(32))
    expect([a[0], c[0]]).toEqual([1, 3])
    keys.drop('a')
    expect([keys.find('a'), a[0], keys.find('c')]).toEqual([undefined, 0, c])
    keys.clear()
    expect([keys.find('c'), c[0]]).toEqual([undefined, 0])
  })

  it('more trees than are kept are all readable', async () => {
    const vault = await openVault({ key })
    const trees = Array.from({ length: 1200 }, (_, tree) => {
      const { wrapped } = vault.createDataKey()
      return { wrapped, text: `secret of ${tree}`, sealed: vault.seal(wrapped, `secret of ${tree}`, place) }
    })
    for (const { wrapped, text, sealed } of trees) expect(vault.open([wrapped], sealed, place)).toBe(text)
  })

  it('a forgotten key is unwrapped again; a closed vault seals and opens nothing', async () => {
    const vault = await openVault({ key })
    const { wrapped } = vault.createDataKey()
    const sealed = vault.seal(wrapped, value, place)
    vault.forget(wrapped)
    expect(vault.open([wrapped], sealed, place)).toBe(value)
    vault.close()
    vault.close()
    for (const use of [
      () => vault.open([wrapped], sealed, place),
      () => vault.seal(wrapped, value, place),
      () => vault.createDataKey(),
    ]) {
      expect(thrownBy(use).code).toBe('STORE_CLOSED')
    }
  })

  it('a vault shows no key', async () => {
    const vault = await openVault({ key })
    vault.createDataKey()
    expect(JSON.parse(JSON.stringify(vault))).toEqual({ keyId: vault.keyId })
    expect(inspect(vault, { showHidden: true, depth: 9 })).not.toMatch(/Buffer|00 01 02|000102/)
  })
})

describe('the key file', () => {
  let dir = ''
  let keyFile = ''
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'skein-vault-'))
    keyFile = join(dir, 'deep', 'er', 'skein.key')
  })
  afterEach(async () => {
    for (const child of racing.splice(0)) child.kill('SIGKILL')
    await rm(dir, { recursive: true, force: true })
  })

  const put = async (text: string, mode = 0o600): Promise<void> => {
    await mkdir(join(dir, 'deep', 'er'), { recursive: true })
    await writeFile(keyFile, text)
    await chmod(keyFile, mode)
  }

  it('is made on first use, for its owner alone, and read ever after', async () => {
    const first = await openVault({ keyFile })
    expect((await stat(keyFile)).mode & 0o777).toBe(0o600)
    expect((await stat(join(dir, 'deep'))).mode & 0o777).toBe(0o700)
    const { wrapped } = first.createDataKey()
    const sealed = first.seal(wrapped, value, place)
    const second = await openVault({ keyFile })
    expect(second.open([wrapped], sealed, place)).toBe(value)
    expect(await readdir(join(dir, 'deep', 'er'))).toEqual(['skein.key'])
    const elsewhere = await openVault({ keyFile: join(dir, 'other.key') })
    expect(elsewhere.keyId).not.toBe(first.keyId)
  })

  it('one that is gone is not made again for a store that has secrets', async () => {
    await expect(openVault({ keyFile, mayCreate: false })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/is gone.*Put it back/),
    })
    await expect(stat(keyFile)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('its text may be given as the key; a given key goes before the file, which is then not made', async () => {
    const { keyId } = await openVault({ keyFile })
    expect((await openVault({ key: await readFile(keyFile, 'utf8') })).keyId).toBe(keyId)
    const unused = join(dir, 'unused.key')
    expect((await openVault({ key, keyFile: unused })).keyId).toBe((await openVault({ key })).keyId)
    await expect(stat(unused)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('many at once in one process agree', async () => {
    const vaults = await Promise.all(Array.from({ length: 20 }, () => openVault({ keyFile })))
    expect(new Set(vaults.map(({ keyId }) => keyId)).size).toBe(1)
    expect(await readdir(join(dir, 'deep', 'er'))).toEqual(['skein.key'])
  })

  it('real processes that begin at once agree, in each of many races', async () => {
    const files = Array.from({ length: 40 }, (_, n) => join(dir, `race-${n}.key`))
    const racers = await Promise.all(Array.from({ length: 3 }, () => startRacer()))
    const ids = await Promise.all(racers.map((racer) => racer(files)))
    for (const [n, keyFileOfRace] of files.entries()) {
      const { keyId } = await openVault({ keyFile: keyFileOfRace })
      expect(ids.map((of) => of[n])).toEqual([keyId, keyId, keyId])
    }
    expect(new Set(ids[0]).size).toBe(files.length)
    expect((await readdir(dir)).toSorted()).toEqual(files.map((file) => file.slice(dir.length + 1)).toSorted())
  })

  it.each(['0644', '0640', '0604', '0660', '0602', '0601'])('mode %s is refused with what to do', async (mode) => {
    await put(`${key}\n`, Number.parseInt(mode, 8))
    const refusal = openVault({ keyFile })
    await expect(refusal).rejects.toMatchObject({ code: 'BAD_OPTION', data: { path: keyFile } })
    await expect(refusal).rejects.toThrow(`has the mode ${mode}: others than its owner can use it. Run chmod 600`)
    await chmod(keyFile, 0o400)
    expect((await openVault({ keyFile })).keyId).toBe((await openVault({ key })).keyId)
  })

  it.each([
    ['nothing', ''],
    ['an empty line', '\n'],
    ['a key without its first digit', key.slice(1)],
    ['a passphrase', 'correct horse battery staple'],
    ['two keys', `${key}\n${key}`],
    ['zeros', '0'.repeat(64)],
    ['a long text', 'x'.repeat(5000)],
  ])('%s is no key; the file is left as it is', async (_, text) => {
    await put(text)
    const error: unknown = await openVault({ keyFile }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/holds no key .*Restore it from a backup/),
    })
    expect(inspect(error)).not.toContain(text.trim().slice(0, 40) || 'nothing to repeat')
    expect(await readFile(keyFile, 'utf8')).toBe(text)
  })

  it('a link is followed, and what it leads to must be safe', async () => {
    await put(key)
    const through = join(dir, 'link.key')
    await symlink(keyFile, through)
    expect((await openVault({ keyFile: through })).keyId).toBe((await openVault({ key })).keyId)
    await chmod(keyFile, 0o644)
    await expect(openVault({ keyFile: through })).rejects.toThrow(/has the mode 0644/)
    await rm(keyFile)
    await expect(openVault({ keyFile: through })).rejects.toThrow(/is a link to nothing/)
  })

  it('a folder in its place and a file as its folder are told, with the cause', async () => {
    await mkdir(keyFile, { recursive: true })
    await expect(openVault({ keyFile })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/holds no key/),
    })
    await writeFile(join(dir, 'file'), '')
    await expect(openVault({ keyFile: join(dir, 'file', 'skein.key') })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/cannot be used: ENOTDIR.*SKEIN_KEY/),
      cause: { code: 'ENOTDIR' },
    })
  })
})

const racing: ChildProcess[] = []

/** A real process that opens one vault after the other when told to, and says their key ids. */
async function startRacer(): Promise<(files: readonly string[]) => Promise<readonly string[]>> {
  const script = `
    import { createInterface } from 'node:readline'
    const { openVault } = await import(${JSON.stringify(new URL('../../../../dist/src/runtime/secrets/vault.js', import.meta.url).href)})
    console.log('ready')
    for await (const line of createInterface({ input: process.stdin })) {
      const ids = []
      for (const keyFile of JSON.parse(line)) ids.push((await openVault({ keyFile })).keyId)
      console.log(JSON.stringify(ids))
      break
    }
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  racing.push(child)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('ready')
  return async (files) => {
    child.stdin.end(`${JSON.stringify(files)}\n`)
    return JSON.parse(String((await lines.next()).value))
  }
}
