/** A call's working copy: its operations, what it notes and what it leaves. */
import { describe, expect, it } from 'vitest'
import { applyChanges, emptyTree, freezeTree } from '../../../src/core/tree.js'
import type { DirNode } from '../../../src/core/tree.js'
import type { FileSource, Files } from '../../../src/files/port.js'
import { createTreeSource } from '../../../src/files/tree-source.js'
import { createWorkingCopy } from '../../../src/files/working-copy.js'
import { createStore, runOn, settleOn } from './copies.js'
import type { Body } from './copies.js'

const world = { store: createStore(), at: 7 }
const on = async (base: Body<unknown>): Promise<DirNode> => (await settleOn(emptyTree, base, { ...world, at: 1 })).tree
const run = <Value>(body: Body<Value>, tree = emptyTree) => runOn(tree, body, world)
const valueOf = async <Value>(body: Body<Value>, tree = emptyTree): Promise<Value> => (await run(body, tree)).value
const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values)

describe('F5: paths', () => {
  it('a relative path starts at the root, and nothing is above it', async () => {
    const body: Body<unknown> = async (files) => [
      await files.writeFile('a/./b//c', '1'),
      await files.readFile('/../../a/b/x/../c', 'utf8'),
      await files.readdir(''),
      await files.realpath('..'),
    ]
    expect(await valueOf(body)).toEqual([undefined, '1', ['a'], '/'])
  })

  it.each([
    ['EINVAL', 'a\0b'],
    ['EINVAL', 'half \uD800 pair'],
    ['ENAMETOOLONG', `/${'n'.repeat(256)}`],
    ['ENAMETOOLONG', `/${'ä'.repeat(128)}`],
    ['ENAMETOOLONG', '/abcdefg'.repeat(513)],
  ])('%s', async (code, path) => {
    await run(async (files) => {
      await expect(files.writeFile(path, '')).rejects.toMatchObject({ code })
      await expect(files.stat(path)).rejects.toMatchObject({ code })
      await expect(files.symlink(path, '/l')).rejects.toMatchObject({ code })
      expect(await files.exists(path)).toBe(false)
    })
  })

  it('as long as may be', async () => {
    const path = `/${'n'.repeat(255)}`
    expect(
      await valueOf(async (files) => [await files.writeFile(path, 'x'), await files.readFile(path, 'utf8')]),
    ).toEqual([undefined, 'x'])
  })

  it('errors say what Node says', async () => {
    await run(async (files) => {
      await expect(files.readFile('x')).rejects.toThrow(/^ENOENT: no such file or directory, open '\/x'$/)
      await expect(files.move('/x', '/y')).rejects.toThrow(/^ENOENT: no such file or directory, rename '\/x' -> '\/y'$/)
      await expect(files.rm('/', { recursive: true, force: true })).rejects.toMatchObject({
        code: 'EBUSY',
        syscall: 'rm',
        path: '/',
      })
      await files.writeFile('/d/f', '')
      await expect(files.readdir('/d/f')).rejects.toThrow(/^ENOTDIR: not a directory, scandir '\/d\/f'$/)
      await expect(files.rm('/d')).rejects.toThrow(/^ENOTEMPTY: directory not empty, rm '\/d'$/)
    })
  })

  it('links: absolute, relative, to and fro, and in a circle', async () => {
    const body = async (files: Files) => {
      await files.writeFile('/real/dir/f', 'x')
      await files.symlink('/real', '/abs')
      await files.symlink('../real/dir', '/abs/up')
      await files.symlink('../../../../real/dir/f', '/real/dir/file')
      await files.symlink('one', '/two')
      await files.symlink('two', '/one')
      await expect(files.stat('/one')).rejects.toMatchObject({ code: 'ELOOP' })
      return [
        await files.realpath('/abs/up/file'),
        await files.readFile('/abs/up/file', 'utf8'),
        await files.lstat('/abs'),
        await files.exists('/one'),
      ]
    }
    expect(await valueOf(body)).toEqual(['/real/dir/f', 'x', { kind: 'link', size: 5, mode: 0o777, at: 7 }, false])
  })

  it('forty links are followed, no more', async () => {
    const chain = async (files: Files, length: number): Promise<string> => {
      await files.writeFile('/n0', 'end')
      for (let index = 1; index <= length; index++) await files.symlink(`n${index - 1}`, `/n${index}`)
      return files.readFile(`/n${length}`, 'utf8')
    }
    expect(await valueOf((files) => chain(files, 40))).toBe('end')
    await expect(run((files) => chain(files, 41))).rejects.toMatchObject({ code: 'ELOOP' })
  })
})

describe('F5: contents', () => {
  it('bytes are kept as they are, and belong to whoever has them', async () => {
    const all = Uint8Array.from({ length: 256 }, (_, index) => index)
    const given = Uint8Array.from(all)
    const { value, contents } = await run(async (files) => {
      const writing = files.writeFile('/b', given)
      given.fill(0)
      await writing
      const read = await files.readFile('/b')
      read.fill(1)
      return files.readFile('/b')
    })
    expect(value).toEqual(all)
    expect([...contents.values()]).toEqual([all])
  })

  it('a stream comes whole, small or large, and may be made of a file that is read', async () => {
    const large = Buffer.alloc(3 * 2 ** 20, 'abc')
    const body = async (files: Files) => {
      await files.writeStream(
        '/large',
        (async function* () {
          for (let at = 0; at < large.length; at += 2 ** 18) yield large.subarray(at, at + 2 ** 18)
        })(),
      )
      await files.writeStream(
        '/twice',
        (async function* () {
          yield* files.readStream('/large')
          yield 'end'
        })(),
        { mode: 0o600 },
      )
      await files.writeStream('/small', files.readStream('/small-given'))
      await files.appendFile('/large', '!')
      return [
        Buffer.compare(await files.readFile('/large'), Buffer.concat([large, Buffer.from('!')])),
        (await files.stat('/twice')).mode,
        (await files.stat('/twice')).size,
        await files.readFile('/small', 'utf8'),
      ]
    }
    const { value, contents } = await run(body, await on((files) => files.writeFile('/small-given', 'x')))
    expect(value).toEqual([0, 0o600, large.length + 3, 'x'])
    // What is large was stored at once, and is not held until the end.
    expect([...contents.values()].map(({ length }) => length)).toEqual([1])
  })

  it('a stream that fails leaves nothing', async () => {
    const { changes } = await run(async (files) => {
      const broken = (async function* () {
        yield 'x'
        throw new Error('broken')
      })()
      await expect(files.writeStream('/d/s', broken)).rejects.toThrow('broken')
    })
    expect(changes).toEqual([])
  })

  it('what was written over or removed again is not handed out', async () => {
    const { changes, contents } = await run(async (files) => {
      await files.writeFile('/gone', 'one')
      await files.rm('/gone')
      await files.writeFile('/kept', 'two')
      await files.writeFile('/kept', 'three')
      await files.writeFile('/temp/x', 'four')
      await files.rm('/temp', { recursive: true })
    })
    expect([...contents.values()].map((each) => Buffer.from(each).toString())).toEqual(['three'])
    expect(changes.map(({ op, path }) => [op, path])).toEqual([
      ['gone', '/gone'],
      ['file', '/kept'],
      ['gone', '/temp'],
    ])
  })

  it('much that is written over again and again is let go', async () => {
    const { value, contents } = await run(async (files) => {
      const block = Buffer.alloc(2 ** 20)
      await files.writeFile('/first', 'first')
      for (let index = 0; index < 130; index++) {
        block.writeUInt32LE(index)
        await files.writeFile('/block', block)
      }
      return [await files.readFile('/first', 'utf8'), Buffer.from(await files.readFile('/block')).readUInt32LE()]
    })
    expect(value).toEqual(['first', 129])
    expect(contents.size).toBe(2)
  })
})

describe('F5: copy and move', () => {
  const base = () =>
    on(async (files) => {
      await files.writeFile('/src/a', 'a', { mode: 0o700 })
      await files.writeFile('/src/sub/b', 'b')
      await files.symlink('a', '/src/l')
      await files.chmod('/src/sub', 0o700)
    })

  it('a directory is merged into another, with modes and links', async () => {
    const body = async (files: Files) => {
      await files.writeFile('/dest/sub/kept', 'k')
      await files.writeFile('/dest/l', 'replaced')
      await files.copy('/src', '/dest')
      return [
        await files.find('dest/**'),
        (await files.stat('/dest/a')).mode,
        await files.readlink('/dest/l'),
        (await files.stat('/dest/sub')).mode,
        await files.readFile('/dest/sub/b', 'utf8'),
      ]
    }
    expect(await valueOf(body, await base())).toEqual([
      ['/dest/a', '/dest/l', '/dest/sub', '/dest/sub/b', '/dest/sub/kept'],
      0o700,
      'a',
      0o755,
      'b',
    ])
  })

  it('what cannot be done leaves everything as it was', async () => {
    const tree = applyChanges(await base(), [{ op: 'dir', path: '/dest/sub/b' }], 1)
    const { changes } = await run(async (files) => {
      await expect(files.copy('/src', '/dest')).rejects.toMatchObject({ code: 'EISDIR' })
      await expect(files.copy('/src', '/src/sub/in')).rejects.toMatchObject({ code: 'EINVAL' })
      await expect(files.copy('/src', '/src/a')).rejects.toMatchObject({ code: 'EINVAL' })
      await expect(files.move('/src', '/dest')).rejects.toMatchObject({ code: 'ENOTEMPTY' })
      await expect(files.copy('/src/a', '/nowhere/a')).rejects.toMatchObject({ code: 'ENOENT' })
      await expect(files.move('/', '/x')).rejects.toMatchObject({ code: 'EBUSY' })
      const long = `/${'n'.repeat(200)}`.repeat(20)
      await files.mkdir('/far', { recursive: true })
      await expect(files.copy('/src', long)).rejects.toMatchObject({ code: 'ENOENT' })
    }, tree)
    expect(changes).toEqual([{ op: 'dir', path: '/far' }])
  })

  it('names that would get too long are refused', async () => {
    const long = `/${'n'.repeat(200)}`.repeat(20)
    const { changes } = await run(
      async (files) => {
        await expect(files.move('/x', `${long}/x`)).rejects.toMatchObject({ code: 'ENAMETOOLONG' })
        await expect(files.copy('/x', `${long}/x`)).rejects.toMatchObject({ code: 'ENAMETOOLONG' })
      },
      await on(async (files) => [
        await files.writeFile(`/x/${'m'.repeat(100)}`, ''),
        await files.mkdir(long, { recursive: true }),
      ]),
    )
    expect(changes).toEqual([])
  })

  it('also deep trees', async () => {
    const deep = '/d'.repeat(1200)
    const { value } = await run(
      async (files) => {
        await files.move('/d', '/e')
        await files.copy('/e', '/f')
        return [
          await files.exists(deep),
          (await files.stat(deep.replace('/d', '/e'))).kind,
          (await files.find('f/**')).length,
          (await files.usage()).files,
        ]
      },
      await on((files) => files.writeFile(deep, '')),
    )
    expect(value).toEqual([false, 'file', 1199, 2])
  })

  it('a move takes all of it along', async () => {
    const tree = await base()
    const { changes, contents } = await run((files) => files.move('/src', '/new'), tree)
    const names = freezeTree(applyChanges(tree, changes, 7)).map(([depth, name, kind]) => [depth, name, kind])
    expect(names).toEqual([
      [0, '', 'dir'],
      [1, 'new', 'dir'],
      [2, 'a', 'file'],
      [2, 'l', 'link'],
      [2, 'sub', 'dir'],
      [3, 'b', 'file'],
    ])
    expect(contents.size).toBe(0)
  })
})

describe('F5: search', () => {
  const base = () =>
    on(async (files) => {
      await files.writeFile('/src/a.ts', 'one\r\ntwo\nthree')
      await files.writeFile('/src/deep/b.ts', 'two two\n')
      await files.writeFile('/src/deep/c.bin', bytes(116, 119, 111, 0))
      await files.writeFile('/src/.hidden/d.ts', 'two')
      await files.writeFile('/z.md', 'two')
      await files.symlink('/src', '/link')
    })

  it.each<[string, Parameters<Files['find']>[1], readonly string[]]>([
    ['**/*.ts', {}, ['/src/.hidden/d.ts', '/src/a.ts', '/src/deep/b.ts']],
    ['*', {}, ['/link', '/src', '/z.md']],
    ['*.ts', { path: '/src' }, ['/src/a.ts']],
    ['/src/*.ts', { path: '/src/deep' }, ['/src/a.ts']],
    ['src/{a,x}.ts', {}, ['/src/a.ts']],
    ['src/deep', {}, ['/src/deep']],
    ['link/*.ts', {}, ['/link/a.ts']],
    ['src/[a-b].?s', {}, ['/src/a.ts']],
    ['nowhere/*', {}, []],
    ['**', { limit: 2 }, ['/link', '/src']],
    ['../*.md', { path: '/src' }, []],
  ])('find %s', async (glob, options, expected) => {
    expect(await valueOf((files) => files.find(glob, options), await base())).toEqual(expected)
  })

  it.each<[RegExp | string, Parameters<Files['grep']>[1], readonly (readonly [string, number, string])[]]>([
    [
      /two/g,
      {},
      [
        ['/src/.hidden/d.ts', 1, 'two'],
        ['/src/a.ts', 2, 'two'],
        ['/src/deep/b.ts', 1, 'two two'],
        ['/z.md', 1, 'two'],
      ],
    ],
    ['^one$', {}, [['/src/a.ts', 1, 'one']]],
    [/THREE/i, { glob: '*.ts' }, [['/src/a.ts', 3, 'three']]],
    ['two', { glob: 'deep/*', path: '/src' }, [['/src/deep/b.ts', 1, 'two two']]],
    ['two', { path: '/z.md' }, [['/z.md', 1, 'two']]],
    ['two', { path: '/link/deep' }, [['/link/deep/b.ts', 1, 'two two']]],
    ['two', { limit: 1 }, [['/src/.hidden/d.ts', 1, 'two']]],
  ])('grep %s', async (pattern, options, expected) => {
    const found = await valueOf((files) => files.grep(pattern, options), await base())
    expect(found.map(({ path, line, text }) => [path, line, text])).toEqual(expected)
  })

  it('what is no pattern or no place is said', async () => {
    await run(async (files) => {
      await expect(files.grep('(')).rejects.toMatchObject({ code: 'EINVAL' })
      await expect(files.grep('x', { path: '/none' })).rejects.toMatchObject({ code: 'ENOENT' })
      await expect(files.find('')).rejects.toMatchObject({ code: 'EINVAL' })
      await expect(files.find('*', { path: '/none' })).rejects.toMatchObject({ code: 'ENOENT' })
    })
  })
})

describe('what is no content', () => {
  class Note {
    readonly text = 'x'
  }
  const never = (value: unknown): never => value as never // what a body without types may give

  it.each<[unknown, string]>([
    [{ a: 1 }, 'an object (JSON.stringify it?)'],
    [[1, 2], 'an array (JSON.stringify it?)'],
    [new Note(), 'an object (JSON.stringify it?)'],
    [5, 'a number (String of it?)'],
    [true, 'a boolean (String of it?)'],
    [5n, 'a bigint (String of it?)'],
    [new Date(0), 'a Date'],
    [null, 'null'],
    [undefined, 'undefined'],
    [new ArrayBuffer(2), 'an ArrayBuffer (new Uint8Array of it?)'],
    [new Uint16Array(2), 'a Uint16Array'],
    [Symbol('x'), 'a symbol'],
    [() => 'x', 'a function'],
  ])('%o is refused, and nothing is written', async (value, told) => {
    const message = `content must be a text or bytes (Uint8Array); it is ${told}`
    const { changes } = await run(async (files) => {
      await expect(files.writeFile('/d/a', never(value))).rejects.toMatchObject({
        code: 'EINVAL',
        path: '/d/a',
        message: `EINVAL: invalid argument, write '/d/a': ${message}`,
      })
      await expect(files.appendFile('/d/a', never(value))).rejects.toMatchObject({ code: 'EINVAL', why: message })
      const parts = (async function* () {
        yield 'begun'
        yield never(value)
      })()
      await expect(files.writeStream('/d/a', parts)).rejects.toMatchObject({
        code: 'EINVAL',
        why: message.replace('content', 'each part of the content'),
      })
    })
    expect(changes).toEqual([])
  })

  it('neither is a Promise, nor for a stream what is none', async () => {
    await run(async (files) => {
      await expect(files.writeFile('/a', never(Promise.resolve('x')))).rejects.toMatchObject({
        code: 'EINVAL',
        why: expect.stringMatching(/it is a Promise \(await it\?\)$/),
      })
      for (const value of [{ a: 1 }, 5, undefined, 'text', bytes(1)])
        await expect(files.writeStream('/a', never(value))).rejects.toMatchObject({
          code: 'EINVAL',
          why: expect.stringMatching(/^content must be an async iterable of texts or bytes; it is /),
        })
    })
  })

  it('a Buffer and any view of bytes are content', async () => {
    const whole = Uint8Array.of(1, 2, 3, 4)
    expect(
      await valueOf(async (files) => [
        await files.writeFile('/a', whole.subarray(1, 3)),
        await files.appendFile('/a', Buffer.from([5])),
        [...(await files.readFile('/a'))],
      ]),
    ).toEqual([undefined, undefined, [2, 3, 5]])
  })
})

describe('F5: quota', () => {
  const small = { ...world, quotaBytes: 10 }

  it('EDQUOT at once, and what makes room is seen', async () => {
    const tree = await on((files) => files.writeFile('/old/a', '12345678'))
    const { value } = await runOn(
      tree,
      async (files) => {
        await expect(files.writeFile('/b', '123')).rejects.toThrow(/^EDQUOT: disk quota exceeded, write '\/b'/)
        await expect(files.appendFile('/old/a', '123')).rejects.toMatchObject({ code: 'EDQUOT' })
        await expect(files.copy('/old', '/new')).rejects.toMatchObject({ code: 'EDQUOT' })
        await expect(
          files.writeStream(
            '/s',
            (async function* () {
              for (;;) yield '12345'
            })(),
          ),
        ).rejects.toMatchObject({ code: 'EDQUOT' })
        await files.writeFile('/old/a', '1')
        await files.writeFile('/b', '123456789')
        await files.rm('/old', { recursive: true, force: true })
        await files.writeFile('/c', '1')
        await files.writeFile('/empty', '')
        await expect(files.writeFile('/c', '12')).rejects.toMatchObject({ code: 'EDQUOT' })
        return files.usage()
      },
      small,
    )
    expect(value).toEqual({ bytes: 10, files: 3, names: 3, quotaBytes: 10 })
  })
})

describe('many operations at once', () => {
  it('each sees what was asked for before it, in order', async () => {
    const { value, changes } = await run(async (files) => {
      const writes = Array.from({ length: 50 }, (_, index) => files.writeFile(`/d/f${index % 25}`, `${index}`))
      const appended = Array.from({ length: 20 }, (_, index) => files.appendFile('/log', `${index},`))
      const early = files.readFile('/d/f0', 'utf8')
      const late = files.writeFile('/d/f0', 'late')
      await Promise.all([...writes, ...appended, late])
      return [
        await early,
        await files.readFile('/d/f0', 'utf8'),
        await files.readFile('/log', 'utf8'),
        (await files.readdir('/d')).length,
      ]
    })
    expect(value).toEqual(['25', 'late', `${Array.from({ length: 20 }, (_, index) => index).join(',')},`, 25])
    expect(changes).toHaveLength(26)
  })

  it('one that fails holds up none', async () => {
    const body: Body<unknown> = (files) =>
      Promise.allSettled([
        files.rm('/none'),
        files.writeFile('/a', '1'),
        files.readFile('/none'),
        files.readFile('/a', 'utf8'),
      ])
    expect(await valueOf(body)).toMatchObject([
      { status: 'rejected' },
      { status: 'fulfilled' },
      { status: 'rejected' },
      { value: '1' },
    ])
  })

  it('opens its source once, when it is needed, and closed in the end', async () => {
    let opened = 0
    const open = async (): Promise<FileSource> => {
      opened++
      return createTreeSource({ tree: emptyTree, at: 1, quotaBytes: 10, blobs: createStore() })
    }
    const idle = createWorkingCopy(open)
    expect(await idle.done()).toEqual({ reads: [], changes: [], contents: new Map() })
    expect(opened).toBe(0)
    const busy = createWorkingCopy(open)
    await Promise.all([busy.files.exists('/a'), busy.files.exists('/b')])
    const unawaited = busy.files.writeFile('/c', '1')
    expect((await busy.done()).changes).toHaveLength(1)
    await unawaited
    expect(opened).toBe(1)
    await expect(busy.files.exists('/a')).rejects.toMatchObject({ code: 'EBADF' })
  })

  it('ten thousand files in one directory', async () => {
    const { changes, reads } = await run(async (files) => {
      for (let index = 0; index < 10_000; index++) await files.writeFile(`/d/${index}`, 'x')
    })
    expect(changes).toHaveLength(10_000)
    expect(reads).toHaveLength(1)
  })
})
