/**
 * What every backend promises of blobs (J8 of src/backend/port.ts), part of the suite in backend.ts. The sizes are
 * those at which a backend may change how it stores them: around nothing and around 64 KB.
 */
import { expect, it } from 'vitest'
import fc from 'fast-check'
import type { Context } from './backend-context.js'
import { bytesOf, commit, hashOf, streamOf } from './entries.js'

const large = 64 * 1024
const sizes = [0, 1, 1000, large - 1, large, large + 1, 3 * large]

/** Bytes that no other size begins with. */
const blob = (size: number): Buffer => Buffer.alloc(size, `${size}-ü`)

export function blobs(context: Context): void {
  contents(context)
  streams(context)
  together(context)
  others(context)
}

function contents({ backend, reopen }: Context): void {
  it.each(sizes)(
    'J8: a blob of %i bytes is named by its sha256 and comes back as it was, put once or twice, and after a restart',
    async (size) => {
      const bytes = blob(size)
      const hash = hashOf(bytes)
      expect(await backend().blobs.has(hash)).toBe(false)
      for (const put of [bytes, streamOf(bytes), bytes]) {
        expect(await backend().blobs.put(put)).toEqual({ hash, size })
        expect(await backend().blobs.has(hash)).toBe(true)
        expect((await bytesOf(backend().blobs.get(hash))).equals(bytes)).toBe(true)
      }
      await reopen()
      expect((await bytesOf(backend().blobs.get(hash))).equals(bytes)).toBe(true)
    },
  )

  it('J8: a view is stored as what it shows, and as it was when it was put', async () => {
    const whole = Buffer.from('before the middle after')
    const put = backend().blobs.put(whole.subarray(7, 17))
    whole.fill('x')
    const { hash, size } = await put
    expect({ hash, size }).toEqual({ hash: hashOf(Buffer.from('the middle')), size: 10 })
    expect((await bytesOf(backend().blobs.get(hash))).toString()).toBe('the middle')
  })

  it('J8: a blob that is not there fails with its hash', async () => {
    for (const hash of [hashOf(Buffer.from('never')), hashOf(Buffer.from('x')).toUpperCase(), '../../etc/passwd', '']) {
      expect(await backend().blobs.has(hash)).toBe(false)
      await expect(bytesOf(backend().blobs.get(hash))).rejects.toMatchObject({ code: 'BLOB_MISSING', data: { hash } })
    }
  })
}

function streams({ backend }: Context): void {
  it('J8: a blob of 8 MB streams in and out', async () => {
    const whole = Buffer.concat(Array.from({ length: 128 }, (_, n) => Buffer.alloc(large, n)))
    const { hash, size } = await backend().blobs.put(streamOf(whole, ...Array.from({ length: 127 }, () => large)))
    expect({ hash, size }).toEqual({ hash: hashOf(whole), size: 8 * 1024 * 1024 })
    expect((await bytesOf(backend().blobs.get(hash))).equals(whole)).toBe(true)
  })

  it('J8: a stream may fill the same memory with every part', async () => {
    const whole = Buffer.concat(Array.from({ length: 200 }, (_, n) => Buffer.alloc(large, n)))
    const one = new Uint8Array(300_000)
    const reusing = async function* (): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < whole.length; at += one.length) {
        const part = whole.subarray(at, at + one.length)
        one.set(part)
        yield one.subarray(0, part.length)
        one.fill(0)
      }
    }
    const { hash } = await backend().blobs.put(reusing())
    expect(hash).toBe(hashOf(whole))
    expect((await bytesOf(backend().blobs.get(hash))).equals(whole)).toBe(true)
  })

  it('J8: however a stream is cut, it is the blob of its bytes', async () => {
    const cuts = fc.array(fc.oneof(fc.nat(100), fc.nat(large + 1)), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...sizes), cuts, async (length, lengths) => {
        const bytes = blob(length)
        const { hash, size } = await backend().blobs.put(streamOf(bytes, ...lengths))
        expect({ hash, size }).toEqual({ hash: hashOf(bytes), size: length })
        expect((await bytesOf(backend().blobs.get(hash))).equals(bytes)).toBe(true)
      }),
      { numRuns: 40 },
    )
  })

  it.each([4, large + 4])('J8: a source that fails after %i bytes leaves no blob behind', async (size) => {
    const half = blob(size)
    async function* source(): AsyncGenerator<Uint8Array> {
      yield half
      throw new Error('the source broke')
    }
    await expect(backend().blobs.put(source())).rejects.toThrow('the source broke')
    expect(await backend().blobs.has(hashOf(half))).toBe(false)
  })
}

function together({ backend }: Context): void {
  it.each([1000, large + 1])('J8: the same %i bytes put many times at once are one blob', async (size) => {
    const bytes = blob(size)
    const puts = Array.from({ length: 20 }, (_, n) => backend().blobs.put(n % 2 === 0 ? bytes : streamOf(bytes, 10)))
    for (const put of await Promise.all(puts)) expect(put).toEqual({ hash: hashOf(bytes), size })
    expect((await bytesOf(backend().blobs.get(hashOf(bytes)))).equals(bytes)).toBe(true)
  })

  it('J8: many different blobs put at once are all there', async () => {
    const all = Array.from({ length: 100 }, (_, n) => Buffer.from(`blob ${n}`))
    const puts = await Promise.all(all.map((bytes) => backend().blobs.put(bytes)))
    const read = await Promise.all(puts.map(({ hash }) => bytesOf(backend().blobs.get(hash))))
    expect(read.map(String)).toEqual(all.map(String))
  })

  it.each([1000, large + 1])(
    'J8: reading %i bytes while they are put gives all of them or BLOB_MISSING',
    async (size) => {
      const bytes = blob(size)
      const hash = hashOf(bytes)
      let stored = false
      const put = backend()
        .blobs.put(bytes)
        .then(() => (stored = true))
      const reads: Promise<string>[] = []
      while (!stored) {
        const read = bytesOf(backend().blobs.get(hash))
        reads.push(
          read.then(
            (found) => (found.equals(bytes) ? 'all' : 'some'),
            (error: { code?: string }) => error.code ?? String(error),
          ),
        )
        await Promise.race([put, read.catch(() => undefined)])
      }
      expect(['all', 'BLOB_MISSING']).toEqual(expect.arrayContaining([...new Set(await Promise.all(reads))]))
      expect((await bytesOf(backend().blobs.get(hash))).equals(bytes)).toBe(true)
    },
  )
}

function others({ backend, open, reopen }: Context): void {
  it('J8: whoever sees a commit sees the small blob that was handed over before it', async () => {
    const client = await open('client')
    const bytes = blob(1000)
    const put = backend().blobs.put(bytes)
    await backend().commit(commit('a', 0))
    expect(await client.journal.read('a')).toHaveLength(1)
    expect((await bytesOf(client.blobs.get(hashOf(bytes)))).equals(bytes)).toBe(true)
    await put
  })

  it.each(sizes)(
    'J8: a client reads the %i bytes that the host put, and the reverse, also when the host is gone',
    async (size) => {
      const client = await open('client')
      const [ours, theirs] = [blob(size), blob(size).reverse()]
      await backend().blobs.put(ours)
      expect((await bytesOf(client.blobs.get(hashOf(ours)))).equals(ours)).toBe(true)
      expect(await client.blobs.put(streamOf(theirs, 10))).toEqual({ hash: hashOf(theirs), size })
      expect((await bytesOf(backend().blobs.get(hashOf(theirs)))).equals(theirs)).toBe(true)
      await backend().close()
      const alone = Buffer.from(`put without a host ${size}`)
      await client.blobs.put(alone)
      for (const bytes of [ours, theirs, alone]) {
        expect(await client.blobs.has(hashOf(bytes))).toBe(true)
        expect((await bytesOf(client.blobs.get(hashOf(bytes)))).equals(bytes)).toBe(true)
      }
      await reopen()
      for (const bytes of [ours, theirs, alone])
        expect((await bytesOf(backend().blobs.get(hashOf(bytes)))).equals(bytes)).toBe(true)
    },
  )
}
