/** `skein files`: a thread's files listed, printed, copied out and in; nothing of it reaches where it should not. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { local } from '../../../src/backend/local/local.js'
import { pack } from '../../../src/runtime/journal/journal.js'
import { app, binary, launch, objects, place } from './binary.js'

const binaryBytes = Buffer.from([0, 1, 2, 0xff, 0xfe, 27, 91, 51, 49, 109])

describe('files of a thread', () => {
  const { folder, store, env, skein, spawned, host } = place(afterAll)

  beforeAll(async () => {
    const here = await host()
    const { files } = await here.threads.create({
      agent: 'echo',
      id: 't1',
      files: {
        '/readme.md': '# hello\n',
        '/src/a.ts': 'a',
        '/src/deep/run.sh': '#!/bin/sh\n',
        '/data.bin': binaryBytes,
      },
    })
    await files.chmod('/src/deep/run.sh', 0o4755)
    await files.chmod('/src/deep', 0o555)
    await files.symlink('../readme.md', '/src/up')
    await files.symlink('/src/a.ts', '/src/same')
    await files.symlink('same', '/src/chain')
    await files.symlink('deep', '/src/dir')
    await files.symlink('/etc/passwd', '/src/passwd')
    await files.symlink('../../../../../../etc', '/src/etc')
    await files.symlink('loop', '/src/loop')
    await here.threads.create({ agent: 'echo', id: 'empty' })
    await here.close()
  })

  const fresh = (name: string): string => {
    const dir = join(folder, name)
    mkdirSync(dir)
    return dir
  }

  it('C1: ls lists names, -R all below, -l with mode, size and target', async () => {
    expect(await skein(['files', 'ls', 't1'])).toEqual({ code: 0, stdout: 'data.bin\nreadme.md\nsrc/\n', stderr: '' })
    expect((await skein(['files', 'ls', 't1', 'src', '-R'])).stdout).toBe(
      'a.ts\nchain\ndeep/\ndeep/run.sh\ndir\netc\nloop\npasswd\nsame\nup\n',
    )
    const { stdout } = await skein(['files', 'ls', 't1', '/src', '-l'])
    expect(stdout).toMatch(/^-rw-r--r-- +1 {2}\d{4}-[\d: -]+ a\.ts\n/)
    expect(stdout).toMatch(/\ndr-xr-xr-x +\d+ {2}[\d: -]+ deep\/\n/)
    expect(stdout).toMatch(/\nl\S+ +\d+ {2}[\d: -]+ up -> \.\.\/readme\.md\n/)
    expect((await skein(['files', 'ls', 't1', '/readme.md'])).stdout).toBe('readme.md\n')
    expect(await skein(['files', 'ls', 'empty'])).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(objects((await skein(['files', 'ls', 't1', '/src/deep', '--json'])).stdout)).toEqual([
      {
        thread: 't1',
        path: '/src/deep',
        entries: [
          { path: '/src/deep/run.sh', kind: 'file', size: 10, mode: expect.any(Number), at: expect.any(Number) },
        ],
      },
    ])
  })

  it('names that no file has, in a store that an earlier Skein wrote, are told; nothing is written', async () => {
    const here = await host()
    await here.threads.create({ agent: 'echo', id: 'odd' })
    await here.close()
    const backend = await local(store).open('host')
    const lease = await backend.leases.acquire(0)
    const [last, head] = [(await backend.journal.read('odd')).at(-1), await backend.heads.get('odd')]
    if (!lease || !last || !head) throw new Error('the thread is not there')
    const seq = last.first + last.count
    const entry = pack(
      [{ type: 'thread.changed', seq, at: 1, changes: { files: [{ op: 'dir', path: '/a/./..' }] } }],
      last.hash,
    )
    expect(
      await backend.commit({ thread: 'odd', expected: seq - 1, epoch: lease.epoch, entry, head, sends: [], done: [] }),
    ).toMatchObject({ ok: true })
    await lease.release()
    await backend.close()
    for (const args of [
      ['pull', 'odd', '/', fresh('odd')],
      ['ls', 'odd', '-R'],
    ]) {
      const { code, stderr } = await skein(['files', ...args])
      expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('".", which is no name of a file')])
    }
    expect(readdirSync(join(folder, 'odd'))).toEqual([])
  })

  it('C1: dots within the root are fine', async () => {
    expect((await skein(['files', 'cat', 't1', 'src/../readme.md'])).stdout).toBe('# hello\n')
    expect((await skein(['files', 'ls', 't1', './src/deep/..//deep'])).stdout).toBe('run.sh\n')
  })

  it('C1: cat gives the bytes as they are; with --json text or base64', async () => {
    const [text] = objects((await skein(['files', 'cat', 't1', 'readme.md', '--json'])).stdout)
    expect(text).toEqual({ thread: 't1', path: '/readme.md', size: 8, text: '# hello\n' })
    const [bytes] = objects((await skein(['files', 'cat', 't1', '/data.bin', '--json'])).stdout)
    expect(bytes).toMatchObject({ base64: binaryBytes.toString('base64') })
    expect((await skein(['files', 'cat', 't1', '/src/chain'])).stdout).toBe('a')
    const copy = join(folder, 'copy.bin')
    await launch('sh', ['-c', `'${process.execPath}' '${binary}' files cat t1 /data.bin > '${copy}'`], { env }).ended
    expect(readFileSync(copy)).toEqual(binaryBytes)
  })

  it('C1: show tells how much a thread holds', async () => {
    expect((await skein(['show', 't1'])).stdout).toMatch(/\nfiles +4 files, 29 B\n/)
    expect((await skein(['show', 'empty'])).stdout).not.toContain('files')
    expect(objects((await skein(['show', 't1', '--json'])).stdout)[0]).toMatchObject({ files: { files: 4, bytes: 29 } })
  })

  it.each([
    [['cat', 't1', '/nope'], "in the files of thread t1: ENOENT: no such file or directory, open '/nope'"],
    [['cat', 't1', '/src'], 'EISDIR'],
    [['ls', 't1', '/src/loop'], 'ELOOP'],
    [['ls', 'nothing'], 'there is no thread "nothing"'],
    [['pull', 't1', '/nope'], 'ENOENT'],
    [['push', 't1', '/nowhere/x'], '/nowhere/x cannot be read: ENOENT'],
    [['push', 't1', '/'], '/ is not a file; push takes one file at a time'],
    [['push', 't1', '-'], 'needs a name'],
    [
      ['push', 't1', import.meta.filename, '../../x'],
      '"../../x" leads above the root of the files of a thread; give a path below /',
    ],
    [['push', 't1', import.meta.filename, 'src/../../'], 'leads above the root'],
    [['pull', 't1', '/src/../../etc'], '"/src/../../etc" leads above the root'],
    [['cat', 't1', '../readme.md'], 'leads above the root'],
    [['ls', 't1', '..'], 'leads above the root'],
  ])('C1: files %j exits 4 with one line', async (args, says) => {
    const { code, stdout, stderr } = await skein(['files', ...args])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(stderr).toContain(says)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  })

  it('C1: pull copies contents, modes and the links that stay inside (PE3)', async () => {
    const dir = join(folder, 'out', 'new')
    const { code, stdout, stderr } = await spawned(['files', 'pull', 't1', '/', dir])
    expect({ code, stdout }).toEqual({ code: 0, stdout: `4 files, 29 B in ${dir}\n` })
    expect(stderr.trimEnd().split('\n')).toEqual(
      ['/src/etc -> ../../../../../../etc', '/src/loop -> loop', '/src/passwd -> /etc/passwd'].map(
        (link) => `left out ${link}: it leads to nothing that is copied`,
      ),
    )
    expect(readdirSync(join(dir, 'src')).sort()).toEqual(['a.ts', 'chain', 'deep', 'dir', 'same', 'up'])
    expect(readFileSync(join(dir, 'data.bin'))).toEqual(binaryBytes)
    expect(
      [join(dir, 'src/deep'), join(dir, 'src/deep/run.sh'), join(dir, 'src/a.ts')].map(
        (path) => statSync(path).mode & 0o7777,
      ),
    ).toEqual([0o555, 0o755, 0o644])
    expect(['up', 'same', 'chain', 'dir'].map((name) => readlinkSync(join(dir, 'src', name)))).toEqual([
      '../readme.md',
      'a.ts',
      'a.ts',
      'deep',
    ])
    expect(readFileSync(join(dir, 'src/up'), 'utf8')).toBe('# hello\n')
  })

  it('C1: pull of a directory makes it the folder, of a file puts it there; a link out of the part is left out', async () => {
    const dir = fresh('part')
    const [report] = objects((await skein(['files', 'pull', 't1', '/src', dir, '--json'])).stdout)
    expect(report).toMatchObject({
      path: '/src',
      files: 2,
      bytes: 11,
      links: 3,
      skipped: [
        { path: '/src/etc' },
        { path: '/src/loop' },
        { path: '/src/passwd' },
        { path: '/src/up', target: '../readme.md' },
      ],
    })
    expect(readFileSync(join(dir, 'a.ts'), 'utf8')).toBe('a')
    await skein(['files', 'pull', 't1', '/src/up', dir])
    expect(lstatSync(join(dir, 'up')).isFile()).toBe(true)
  })

  it('what is there is not replaced without --force, and then nothing at all is written', async () => {
    const dir = fresh('taken')
    writeFileSync(join(dir, 'readme.md'), 'mine')
    const refused = await skein(['files', 'pull', 't1', '/', dir])
    expect(refused).toMatchObject({
      code: 4,
      stdout: '',
      stderr: `skein: ${dir}/readme.md would be replaced; give --force, or take another folder\n`,
    })
    expect(readdirSync(dir)).toEqual(['readme.md'])
    expect((await skein(['files', 'pull', 't1', '/', dir, '--force'])).code).toBe(0)
    expect(readFileSync(join(dir, 'readme.md'), 'utf8')).toBe('# hello\n')
  })

  it('a link in the folder that leads out is never followed, not even with --force', async () => {
    const outside = fresh('outside')
    writeFileSync(join(outside, 'victim'), 'untouched')
    const dir = fresh('trap')
    symlinkSync(join(outside, 'victim'), join(dir, 'readme.md'))
    symlinkSync(join(outside, 'new'), join(dir, 'data.bin'))
    expect((await skein(['files', 'pull', 't1', '/', dir])).code).toBe(4)
    expect((await skein(['files', 'pull', 't1', '/', dir, '--force'])).code).toBe(0)
    expect([readFileSync(join(outside, 'victim'), 'utf8'), existsSync(join(outside, 'new'))]).toEqual([
      'untouched',
      false,
    ])
    expect(lstatSync(join(dir, 'readme.md')).isFile()).toBe(true)

    const other = fresh('trap2')
    symlinkSync(outside, join(other, 'src'))
    const { code, stderr } = await skein(['files', 'pull', 't1', '/', other, '--force'])
    expect(code).toBe(4)
    expect(stderr).toContain(`${other}/src is no directory, and /src is one`)
    expect([readdirSync(outside), readdirSync(other)]).toEqual([['victim'], ['src']])
  })

  it('a folder that cannot be written to is named, exit 4', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    expect(await skein(['files', 'pull', 't1', '/', file])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`${file} cannot be filled: `),
    })
  })
})

describe('files push', () => {
  it('C1: brings a file with its mode; into a directory, under a name, from stdin', async () => {
    const { folder, skein, spawned, host } = place()
    const here = await host()
    const { files } = await here.threads.create({ agent: 'echo', id: 't1', files: { '/dir/x': '' } })
    const tool = join(folder, 'tool.sh')
    writeFileSync(tool, 'echo hi\n')
    chmodSync(tool, 0o750)
    expect(await skein(['files', 'push', 't1', tool])).toEqual({ code: 0, stdout: '/tool.sh\n', stderr: '' })
    expect((await skein(['files', 'push', 't1', tool, 'dir'])).stdout).toBe('/dir/tool.sh\n')
    expect((await skein(['files', 'push', 't1', tool, '/made/new/'])).stdout).toBe('/made/new/tool.sh\n')
    expect(
      objects((await spawned(['files', 'push', 't1', '-', 'notes/a', '--json'], { input: 'piped' })).stdout),
    ).toEqual([{ thread: 't1', path: '/notes/a', state: 'accepted' }])
    expect([
      await files.readFile('/made/new/tool.sh', 'utf8'),
      await files.readFile('/notes/a', 'utf8'),
      (await files.stat('/tool.sh')).mode & 0o777,
    ]).toEqual(['echo hi\n', 'piped', 0o750])
    await here.close()
  })

  it('C1: without a host it is kept, and is there when one has come', async () => {
    const { skein, seed } = place()
    await seed({ agent: 'echo', id: 't1' })
    expect(await skein(['files', 'push', 't1', '-', 'a'], { input: 'x' })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('kept; '),
    })
    expect((await skein(['files', 'cat', 't1', 'a'])).code).toBe(4)
    await skein(['run', app, '--thread', 't1'])
    expect((await skein(['files', 'cat', 't1', 'a'])).stdout).toBe('x')
    expect((await skein(['tail', 't1', '--no-follow'])).stdout).toMatch(/ thread\.changed file \/a\n/)
  })
})
