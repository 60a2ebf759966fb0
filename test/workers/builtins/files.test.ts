/** The built-in tools on a thread's own files, without the shell. */
import { createTwoFilesPatch } from 'diff'
import { beforeEach, describe, expect, it } from 'vitest'
import { builtins } from '../../../src/tools/own/thread-files.js'
import { caller } from './call.js'
import { createThreadFiles } from './thread-files.js'
import type { ThreadFiles } from './thread-files.js'

let thread: ThreadFiles
const run = caller(builtins)
const call = (name: string, args: unknown): Promise<unknown> => thread.call((files) => run(name, args, { files }))
const coded = (code: string, message: RegExp = /./) => ({ code, message: expect.stringMatching(message) })

beforeEach(async () => {
  thread = createThreadFiles()
  await call('write', { path: 'a.txt', content: 'one\ntwo\nthree\n' })
  await call('write', { path: '/sub/b.md', content: 'two\n' })
})

describe('read', () => {
  it('T11: a file, some lines of it, nothing of an empty one', async () => {
    expect(await call('read', { path: '/a.txt' })).toBe('one\ntwo\nthree\n')
    expect(await call('read', { path: 'sub/../a.txt', offset: 2, limit: 1 })).toBe('two\n')
    await expect(call('read', { path: 'a.txt', offset: 9 })).rejects.toMatchObject(
      coded('TOOL_INPUT_INVALID', /has 3 lines/),
    )
    await call('write', { path: 'empty', content: '' })
    expect(await call('read', { path: 'empty' })).toBe('')
  })

  it('T11: a file past the limit in parts', async () => {
    await thread.call((files) => files.writeFile('/huge', 'üüü\n'.repeat(50_000)))
    await expect(call('read', { path: 'huge' })).rejects.toMatchObject(coded('TOOL_FILE_TOO_LARGE', /350000 bytes/))
    expect(await call('read', { path: 'huge', offset: 50_000 })).toBe('üüü\n')
    expect(await call('read', { path: 'huge', limit: 40_000 })).toMatch(/üüü\n\[cut: go on with offset \d+\]$/)
  })

  it('T11: what cannot be read is told as such', async () => {
    await thread.call((files) => files.writeFile('/binary', Uint8Array.of(1, 0, 255)))
    await thread.call((files) => files.symlink('/gone', '/link'))
    await thread.call((files) => files.symlink('round', '/round'))
    await expect(call('read', { path: 'binary' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID', /not text/))
    await expect(call('read', { path: 'binary', limit: 1 })).rejects.toMatchObject(
      coded('TOOL_PATH_INVALID', /not text/),
    )
    await expect(call('read', { path: 'sub' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID', /directory/))
    await expect(call('read', { path: 'gone' })).rejects.toMatchObject(
      coded('TOOL_PATH_INVALID', /\/gone does not exist/),
    )
    await expect(call('read', { path: 'link' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID', /does not exist/))
    await expect(call('read', { path: 'round' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID', /circle/))
    await expect(call('read', { path: 'a.txt/x' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID'))
  })

  it('every tool refuses paths that climb out or are none', async () => {
    for (const path of ['../a.txt', '/..', 'sub/../../a.txt']) {
      const escape = coded('TOOL_PATH_ESCAPE', /above the root/)
      await expect(call('read', { path })).rejects.toMatchObject(escape)
      await expect(call('write', { path, content: '' })).rejects.toMatchObject(escape)
      await expect(call('edit', { path, patch: '' })).rejects.toMatchObject(escape)
      await expect(call('grep', { path, pattern: 'x' })).rejects.toMatchObject(escape)
      await expect(call('ls', { path })).rejects.toMatchObject(escape)
      await expect(call('glob', { path, pattern: 'x' })).rejects.toMatchObject(escape)
      await expect(call('bash', { cmd: 'ls', opts: { cwd: path } })).rejects.toMatchObject(escape)
    }
    for (const path of ['', '\0', 'x'.repeat(5000)])
      await expect(call('read', { path })).rejects.toMatchObject(coded('TOOL_PATH_INVALID'))
  })
})

describe('write and edit', () => {
  it('T11: sizes', async () => {
    expect(await call('write', { path: 'big', content: 'x'.repeat(200_000) })).toBe('ok')
    await expect(call('write', { path: 'big', content: 'x'.repeat(200_001) })).rejects.toMatchObject(
      coded('TOOL_CONTENT_TOO_LARGE'),
    )
    await expect(call('edit', { path: 'big', patch: 'x'.repeat(200_001) })).rejects.toMatchObject(
      coded('TOOL_PATCH_TOO_LARGE'),
    )
    await thread.call((files) => files.writeFile('/huge', 'x\n'.repeat(5_000_001)))
    await expect(call('edit', { path: 'huge', patch: '@@ -1 +1 @@\n-x\n+y\n' })).rejects.toMatchObject(
      coded('TOOL_FILE_TOO_LARGE'),
    )
  })

  it('T11: a patch is applied, or told why not', async () => {
    const patch = createTwoFilesPatch('a', 'a', 'one\ntwo\nthree\n', 'one\n2\nthree\nfour\n')
    expect(await call('edit', { path: 'a.txt', patch })).toBe('ok')
    expect(await call('read', { path: 'a.txt' })).toBe('one\n2\nthree\nfour\n')
    await expect(call('edit', { path: 'a.txt', patch })).rejects.toMatchObject(coded('TOOL_PATCH_FAILED'))
    await expect(call('edit', { path: 'gone', patch })).rejects.toMatchObject(
      coded('TOOL_PATH_INVALID', /does not exist/),
    )
  })

  it('T11: a directory, a file on the way, a full store', async () => {
    await expect(call('write', { path: 'sub', content: '' })).rejects.toMatchObject(
      coded('TOOL_PATH_INVALID', /directory/),
    )
    await expect(call('write', { path: 'a.txt/b', content: '' })).rejects.toMatchObject(
      coded('TOOL_PATH_INVALID', /not a directory/),
    )
    thread = createThreadFiles(10)
    await expect(call('write', { path: 'x', content: '12345678901' })).rejects.toMatchObject(
      coded('FILES_QUOTA', /quota/),
    )
  })
})

describe('finding', () => {
  it('T11: grep gives path:line:text', async () => {
    expect(await call('grep', { pattern: 't[wh]' })).toBe('/a.txt:2:two\n/a.txt:3:three\n/sub/b.md:1:two')
    expect(await call('grep', { pattern: 'two', path: 'sub' })).toBe('/sub/b.md:1:two')
    expect(await call('grep', { pattern: 'two', path: 'a.txt' })).toBe('/a.txt:2:two')
    expect(await call('grep', { pattern: 'four' })).toBe('')
    await expect(call('grep', { pattern: '[' })).rejects.toMatchObject(
      coded('TOOL_GREP_FAILED', /not a regular expression/),
    )
    await expect(call('grep', { pattern: 'x', path: 'gone' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID'))
  })

  it('T11: no pattern of a model makes grep or glob hang, and what the engine does not know is said', async () => {
    await thread.call((files) => files.writeFile(`/${'a'.repeat(200)}`, `${'a'.repeat(40)}!`))
    expect(await call('grep', { pattern: '(a+)+$', path: 'a'.repeat(200) })).toBe('')
    expect(await call('glob', { pattern: '*a*a*a*a*a*a*a*a*a*a*a*b' })).toBe('')
    await expect(call('grep', { pattern: '(a)\\1' })).rejects.toMatchObject(
      coded(
        'TOOL_GREP_FAILED',
        /"\(a\)\\\\1" is not a regular expression that grep takes: .* backreferences and lookaround are not supported/,
      ),
    )
    await expect(call('grep', { pattern: 'a(?=b)' })).rejects.toMatchObject(coded('TOOL_GREP_FAILED', /lookaround/))
    await expect(call('grep', { pattern: '(x?){600}' })).rejects.toMatchObject(coded('TOOL_GREP_FAILED', /too large/))
    await expect(call('glob', { pattern: '[z-a]' })).rejects.toMatchObject(coded('TOOL_INPUT_INVALID', /\[z-a\]/))
  })

  it('T11: grep shows 2,000 characters of a line, those around the match', async () => {
    await thread.call((files) => files.writeFile('/wide', `${'x'.repeat(300_000)}needle${'y'.repeat(300_000)}\nneedle`))
    const [first, second] = String(await call('grep', { pattern: 'needle', path: 'wide' })).split('\n')
    expect(first).toMatch(/^\/wide:1:…x{997}needley{997}…$/)
    expect(second).toBe('/wide:2:needle')
  })

  it('T14: grep and glob stop when they are told to', async () => {
    const stopped = AbortSignal.abort(new Error('enough'))
    await expect(thread.call((files) => run('grep', { pattern: 'x' }, { files, signal: stopped }))).rejects.toThrow(
      'enough',
    )
    await expect(thread.call((files) => run('glob', { pattern: 'x' }, { files, signal: stopped }))).rejects.toThrow(
      'enough',
    )
  })

  it('T11: grep stops at 10,000 lines and at the limit', async () => {
    await thread.call((files) => files.writeFile('/many', 'two\n'.repeat(12_000)))
    expect(String(await call('grep', { pattern: 'two', path: 'many' })).split('\n')).toHaveLength(10_001)
    await thread.call((files) => files.writeFile('/wide', `${'two'.repeat(20)}\n`.repeat(5000)))
    const found = String(await call('grep', { pattern: 'two', path: 'wide' }))
    expect(Buffer.byteLength(found)).toBeLessThanOrEqual(200_000)
    expect(found).toMatch(/\[cut: /)
  })

  it('T11: ls and glob', async () => {
    await thread.call((files) => files.symlink('a.txt', '/link'))
    expect(await call('ls', {})).toBe('a.txt (14 bytes)\nlink -> a.txt\nsub/')
    expect(await call('ls', { path: 'sub' })).toBe('b.md (4 bytes)')
    await expect(call('ls', { path: 'a.txt' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID', /not a directory/))
    expect(await call('glob', { pattern: '**/*.{md,txt}' })).toBe('/a.txt\n/sub/b.md')
    expect(await call('glob', { pattern: '*', path: 'sub' })).toBe('/sub/b.md')
    expect(await call('glob', { pattern: '*.none' })).toBe('')
  })
})

it('a blind write reads nothing of what it replaces', async () => {
  await call('write', { path: '/sub/b.md', content: 'new' })
  expect(thread.reads().filter((read) => !/^(slot|room|kind) /.test(read))).toEqual([])
  await call('read', { path: '/a.txt' })
  expect(thread.reads().filter((read) => !/^(slot|room|kind) /.test(read))).toEqual(['node /a.txt'])
})
