/** A thread's files from outside: what looking at them costs, and what one instant of them is. */
import { expect, it } from 'vitest'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'
import type { Backend, Store, Heads, Journal } from '../../../../src/backend/port.js'
import type { Json } from '../../../../src/core/json.js'
import { connectSkein } from '../../../../src/runtime/handles/client.js'

const { app } = tinyApp({ script: () => 'done' })

/** A message that brings these rows of a tree. */
const said = (attachments: Json): Json => ({
  kind: 'message',
  text: 'look',
  role: 'user',
  delivery: 'steer',
  attachments,
})
/** A row of a directory. */
const node = (depth: number, name: string): Json => [depth, name, 'dir', 0o755, 1]

/** A store that tells after which record a journal was read, and how often a head. */
function counted(source: Store): { readonly source: Store; readonly reads: number[]; looks(): number } {
  const reads: number[] = []
  let looks = 0
  const tap = (backend: Backend): Pick<Backend, 'journal' | 'heads'> => ({
    journal: tapped(backend.journal, 'read', (args) => void reads.push(args[1]?.after ?? 0)),
    heads: tapped(backend.heads, 'get', () => void looks++),
  })
  return {
    reads,
    looks: () => looks,
    source: {
      async open(role) {
        const backend = await source.open(role)
        const parts: Readonly<Record<PropertyKey, unknown>> = { ...tap(backend) }
        return new Proxy(backend, { get: (target, key) => parts[key] ?? bound(target, Reflect.get(target, key)) })
      },
    },
  }
}

function tapped<Part extends Journal | Heads, Name extends keyof Part>(
  part: Part,
  name: Name,
  heard: (args: Parameters<Journal['read']>) => void,
): Part {
  return new Proxy(part, {
    get(target, key) {
      const own = bound(target, Reflect.get(target, key))
      return key === name && typeof own === 'function'
        ? (...args: Parameters<Journal['read']>) => {
            heard(args)
            return own(...args)
          }
        : own
    },
  })
}

function bound(target: object, value: unknown): unknown {
  return typeof value === 'function' ? value.bind(target) : value
}

onEveryStore('files from outside', (world) => {
  it('while nothing changes nothing is read again, and after a change only what is new', async () => {
    const skein = await world.open(app)
    await skein.threads.create({ agent: 'helper', id: 't', files: { '/d/a': 'a', '/d/b': 'b' } })
    const { source, reads } = counted(world.store.source)
    const client = await connectSkein({ backend: source, clock: world.clock })
    const { files } = await client.threads.get('t')
    const looks = await Promise.all([
      files.readFile('/d/a', 'utf8'),
      files.stat('/d/b'),
      files.readdir('/'),
      files.find('**'),
      files.usage(),
    ])
    expect(looks).toMatchObject(['a', { size: 1 }, ['d'], ['/d', '/d/a', '/d/b'], { files: 2 }])
    for (let again = 0; again < 20; again++) await files.exists('/d/a')
    expect(reads).toEqual([0])

    await (await skein.threads.get('t')).files.writeFile('/d/c', 'c')
    expect(await files.readdir('/d')).toEqual(['a', 'b', 'c'])
    await files.writeFile('/d/d', 'd')
    expect(await files.readFile('/d/d', 'utf8')).toBe('d')
    expect(await files.readdir('/d')).toEqual(['a', 'b', 'c', 'd'])
    expect(reads).toEqual([0, 1, 2])
    await client.close()
  })

  it('changes and looks at once, from two handles, lose nothing', async () => {
    const skein = await world.open(app)
    const one = await skein.threads.create({ agent: 'helper', id: 't' })
    const two = await skein.threads.get('t')
    const marks = Array.from({ length: 12 }, (_, index) => `${index},`)
    await Promise.all(
      marks.flatMap((mark, index) => [
        (index % 2 ? one : two).files.appendFile('/log', mark),
        one.files.exists('/log'),
        two.files.usage(),
      ]),
    )
    const log = await one.files.readFile('/log', 'utf8')
    expect(log.split(',').sort()).toEqual(marks.join('').split(',').sort())
    expect(await two.files.readFile('/log', 'utf8')).toBe(log)
  })

  it('a stream that must be written again is written whole', async () => {
    const skein = await world.open(app)
    const { files } = await skein.threads.create({ agent: 'helper', id: 't' })
    for (const [name, part] of [
      ['small', 'x'.repeat(10)],
      ['large', 'x'.repeat(2 ** 20)],
    ] as const) {
      const meanwhile = async function* () {
        yield part
        await files.symlink(`/${name}-target`, `/${name}`)
        yield part
      }
      await files.writeStream(`/${name}`, meanwhile(), { mode: 0o600 })
      expect((await files.lstat(`/${name}`)).kind).toBe('link')
      expect(await files.stat(`/${name}-target`)).toMatchObject({ size: part.length * 2, mode: 0o600 })
    }
  })

  it('a volume is of one instant', async () => {
    const skein = await world.open(app)
    const { files } = await skein.threads.create({
      agent: 'helper',
      id: 't',
      files: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`/d/${index}`, 'old'])),
    })
    const { source, looks } = counted(world.store.source)
    const client = await connectSkein({ backend: source, clock: world.clock })
    const outside = (await client.threads.get('t')).files
    const before = looks()
    const { fs, save } = await outside.volume('/d')
    expect([looks() - before, fs.readdirSync('/d').length]).toEqual([1, 20])
    fs.writeFileSync('/d/0', 'new')
    await save()
    expect([await files.readFile('/d/0', 'utf8'), await files.readFile('/d/1', 'utf8')]).toEqual(['new', 'old'])
    await client.close()
  })

  it('a snapshot is one instant, whatever is changed later, and is not changed itself', async () => {
    const skein = await world.open(app)
    const { files } = await skein.threads.create({ agent: 'helper', id: 't', files: { '/d/a': 'old', '/d/b': 'b' } })
    await files.symlink('a', '/d/l')
    const then = await files.snapshot()
    await files.writeFile('/d/a', 'new')
    await files.rm('/d/b')
    expect(
      await Promise.all([
        then.readFile('/d/a', 'utf8'),
        then.readdir('/d'),
        then.readlink('/d/l'),
        then.realpath('/d/l'),
        then.exists('/d/b'),
      ]),
    ).toEqual(['old', ['a', 'b', 'l'], 'a', '/d/a', true])
    expect([
      await then.find('**/b'),
      (await then.grep('old')).map(({ path }) => path),
      (await then.usage()).bytes,
    ]).toEqual([['/d/b'], ['/d/a'], 4])
    const parts: Uint8Array[] = []
    for await (const part of then.readStream('/d/l')) parts.push(part)
    expect(Buffer.concat(parts).toString()).toBe('old')
    const { fs, save } = await then.volume('/d')
    fs.writeFileSync('/d/a', 'from a library')
    const refused = {
      code: 'EROFS',
      message: expect.stringMatching(/^EROFS: read-only file system, .*: this is a snapshot/),
    }
    await expect(save()).rejects.toMatchObject(refused)
    for (const change of [
      then.writeFile('/x', ''),
      then.appendFile('/x', ''),
      then.writeStream('/x', (async function* () {})()),
      then.mkdir('/x'),
      then.rm('/d'),
      then.move('/d', '/e'),
      then.copy('/d', '/e'),
      then.symlink('a', '/x'),
      then.chmod('/d/a', 0o600),
    ]) {
      await expect(change).rejects.toMatchObject(refused)
    }
    expect(await files.readdir('/')).toEqual(['d'])
  })

  it('F5: the quota holds for changes from outside, and for what a thread begins with', async () => {
    const skein = await world.open(app, { limits: { maxFileBytes: 100 } })
    const { files } = await skein.threads.create({ agent: 'helper', id: 't', files: { '/a': 'x'.repeat(60) } })
    const full = { code: 'FILES_QUOTA', message: expect.stringMatching(/would hold 120 bytes, and 100 are allowed/) }
    await expect(files.writeFile('/b', 'x'.repeat(60))).rejects.toMatchObject(full)
    await expect(files.appendFile('/a', 'x'.repeat(60))).rejects.toMatchObject(full)
    await expect(files.copy('/a', '/b')).rejects.toMatchObject(full)
    await expect(
      files.writeStream(
        '/b',
        (async function* () {
          yield 'x'.repeat(60)
        })(),
      ),
    ).rejects.toMatchObject(full)
    expect(await files.find('**')).toEqual(['/a'])
    await files.writeFile('/b', 'x'.repeat(40))
    await files.move('/b', '/c')
    await files.writeFile('/a', 'x'.repeat(50))
    await files.writeFile('/empty', '')
    expect(await files.usage()).toMatchObject({ bytes: 90, files: 3 })
    await expect(
      skein.threads.create({ agent: 'helper', id: 'much', files: { '/a': 'x'.repeat(60), '/b': 'x'.repeat(60) } }),
    ).rejects.toMatchObject(full)
    await expect(skein.threads.get('much')).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
  })

  it('F5: a thread that holds more than is allowed now may still be made smaller', async () => {
    const skein = await world.open(app)
    await skein.threads.create({ agent: 'helper', id: 't', files: { '/a': 'x'.repeat(60), '/b': 'x'.repeat(60) } })
    await world.close(skein)
    const { files } = await (await world.open(app, { limits: { maxFileBytes: 100 } })).threads.get('t')
    await files.writeFile('/a', 'x'.repeat(59))
    await files.chmod('/b', 0o600)
    await expect(files.writeFile('/c', 'x')).rejects.toMatchObject({ code: 'FILES_QUOTA' })
    await files.rm('/b')
    await files.writeFile('/c', 'x')
  })

  it('F5: files, links and directories are counted, from outside, in calls and in what a message brings; the default is 100,000', async () => {
    const many = looseTool('many', async ({ files }) => {
      for (let n = 0; n < 8; n++) await files.mkdir(`/made/${n}`, { recursive: true })
      return 'made'
    })
    const { app: own } = tinyApp({ tools: [many], script: ({ step }) => (step === 0 ? calls('many') : 'done') })
    const skein = await world.open(own, { limits: { maxFiles: 8 } })
    const thread = await skein.threads.create({ agent: 'helper', id: 't', files: { '/d/e/a': '1', '/b': '2' } })
    const full = (count: number) => ({
      code: 'FILES_QUOTA',
      message: expect.stringContaining(`would hold ${count} files, links and directories, and 8 are allowed`),
    })
    await thread.files.symlink('b', '/l')
    await expect(thread.files.writeFile('/f/g/h/i', '')).rejects.toMatchObject(full(9))
    await expect(thread.files.copy('/d', '/f/g')).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(
      skein.threads.create({
        agent: 'helper',
        id: 'much',
        files: Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`/${n}`, ''])),
      }),
    ).rejects.toMatchObject(full(9))
    await thread.files.writeFile('/b', 'longer')
    await thread.files.move('/b', '/c')
    await thread.send('go').result()
    expect((await thread.messages()).find(({ role }) => role === 'tool')?.text).toMatch(
      /FILES_QUOTA: many was undone: .* would hold 14 files, links and directories/,
    )
    expect(await thread.files.usage()).toMatchObject({ files: 2, names: 5 })
    await world.close(skein)
    const wide = await world.open(own)
    expect(await (await wide.threads.get('t')).send('go').result()).toMatchObject({ stopReason: 'completed' })
    expect(await (await wide.threads.get('t')).files.usage()).toMatchObject({ names: 14 })
  })

  it.each([
    ['a path with ..', { kind: 'change', changes: { files: [{ op: 'dir', path: '/a/../../b' }] } }],
    ['a path with .', { kind: 'change', changes: { files: [{ op: 'link', path: '/./.', target: 'x' }] } }],
    ['a path with an empty name', { kind: 'change', changes: { files: [{ op: 'dir', path: '/a//b' }] } }],
    [
      'a path of a million steps',
      { kind: 'change', changes: { files: [{ op: 'dir', path: '/a'.repeat(1_000_000) }] } },
    ],
    ['a tree with ..', said([node(0, ''), node(1, '..')])],
    ['a tree with a path as a name', said([node(0, ''), node(1, '../../etc')])],
    ['a tree that is deeper than its rows', said([node(0, ''), node(2, 'x')])],
    ['a tree whose rows are none', said([node(0, ''), 7])],
    ['a tree below a file', said([node(0, ''), [1, 'f', 'file', 'a'.repeat(64), 1, 0o644, 1], node(2, 'x')])],
    ['a file without a hash', said([node(0, ''), [1, 'f', 'file', '../../x', 1, 0o644, 1]])],
  ])('mail that brings %s is refused, and changes nothing', async (_what, command) => {
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const client = await world.store.source.open('client')
    await client.mailbox.put({ to: 't', id: 'hostile', body: { command } })
    await until('its answer', async () => (await client.mailbox.waiting()).length === 0)
    await client.close()
    expect(await thread.files.readdir('/')).toEqual([])
    expect(await thread.messages()).toEqual([])
  })

  it('what is no content is refused before anything is asked of the thread', async () => {
    const skein = await world.open(app)
    const { files } = await skein.threads.create({ agent: 'helper', id: 't' })
    // @ts-expect-error what a caller without types may give
    await expect(files.writeFile('/a', { a: 1 })).rejects.toMatchObject({
      code: 'EINVAL',
      why: 'content must be a text or bytes (Uint8Array); it is an object (JSON.stringify it?)',
    })
    expect(await files.readdir('/')).toEqual([])
    // @ts-expect-error what a caller without types may give
    const made = skein.threads.create({ agent: 'helper', id: 'u', files: { '/a': 'fine', '/b': new Date(0) } })
    await expect(made).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/files\.\/b: content must be a text or bytes \(Uint8Array\); it is a Date/),
    })
  })
})
