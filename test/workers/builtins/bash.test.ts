/** The built-in `bash`: a virtual shell on a thread's own files. */
import { beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.js'
import { SkeinError } from '../../../src/core/failure.js'
import { manualClock } from '../../../src/core/manual-clock.js'
import { applyChanges, emptyTree } from '../../../src/core/tree.js'
import type { Files } from '../../../src/files/port.js'
import { createTreeSource } from '../../../src/files/tree-source.js'
import { createWorkingCopy } from '../../../src/files/working-copy.js'
import { builtins } from '../../../src/tools/own/thread-files.js'
import { run as runCommand } from '../../../workers/builtins/bash.js'
import { until } from '../../helpers/deferred.js'
import { caller } from './call.js'
import { createThreadFiles } from './thread-files.js'
import type { ThreadFiles } from './thread-files.js'

let thread: ThreadFiles
beforeEach(async () => {
  thread = createThreadFiles()
  await put('/a.txt', 'one\ntwo\nthree\n')
})

const put = (path: string, content: string | Uint8Array): Promise<void> =>
  thread.call((files) => files.writeFile(path, content))
const look = <Value>(at: (files: Files) => Promise<Value>): Promise<Value> => thread.call(at)
const run = caller(builtins)
const bash = (
  cmd: string,
  args: readonly string[] = [],
  opts: { cwd?: string; timeoutMs?: number; signal?: AbortSignal } = {},
) => {
  const { signal, ...rest } = opts
  return thread.call((files) => run('bash', { cmd, args, opts: rest }, { files, ...(signal && { signal }) }))
}
const sh = (script: string, opts: Parameters<typeof bash>[2] = {}) => bash('sh', ['-lc', script], opts)
const failed = (error: RegExp) => ({
  status: 'error',
  code: 'TOOL_COMMAND_FAILED',
  error: expect.stringMatching(error),
})

describe('a command', () => {
  it('T11: is not parsed, nor are its args', async () => {
    expect(await bash('cat', ['a.txt'])).toBe('one\ntwo\nthree\n')
    expect(await bash('printf', ['%s|', '*', '$HOME', 'a b', "it's", ''])).toBe("*|$HOME|a b|it's||")
    expect(await bash('cat a.txt')).toEqual(failed(/cat a\.txt: (command not found|No such file)/))
    expect(await bash('echo hi; echo ho')).toEqual(failed(/exited with 127/))
    expect(await bash('if')).toEqual(failed(/exited with 127/))
  })

  it('T11: pipes through sh -lc and bash -c, with arguments', async () => {
    expect(await sh('sort a.txt | head -n 1; echo err >&2')).toBe('one\nerr\n')
    expect(await bash('bash', ['-c', 'echo "$0 $1 $#"', 'zero', 'o n e'])).toBe('zero o n e 1\n')
    expect(await bash('bash', ['-euo', 'pipefail', '-c', 'false | true; echo no'])).toEqual(failed(/exited with 1/))
    await put('/run.sh', 'for each in "$@"; do echo "[$each]"; done')
    expect(await bash('sh', ['run.sh', 'a b', 'c'])).toBe('[a b]\n[c]\n')
    expect(await sh('cat <<EOF\n  kept\nEOF')).toBe('  kept\n')
  })

  it('T11: VB1: that fails is a result, and what it changed is kept', async () => {
    expect(await sh('echo half > b.txt; echo said; exit 3')).toEqual(failed(/^sh exited with 3:\nsaid\n$/))
    expect(await bash('cat', ['b.txt'])).toBe('half\n')
    expect(await bash('false')).toEqual(failed(/^false exited with 1 and said nothing$/))
    expect(await bash('cat', ['gone'])).toEqual(failed(/cat: gone: No such file or directory/))
    expect(await sh('cat "')).toEqual(failed(/unexpected EOF/))
  })

  it('T11: runs where it is told', async () => {
    await put('/sub/b.txt', 'x')
    expect(await bash('ls', [], { cwd: 'sub' })).toBe('b.txt\n')
    expect(await bash('pwd', [], { cwd: '/sub' })).toBe('/sub\n')
    await expect(bash('pwd', [], { cwd: 'gone' })).rejects.toMatchObject({ code: 'TOOL_PATH_INVALID' })
    await expect(bash('pwd', [], { cwd: 'a.txt' })).rejects.toMatchObject({
      code: 'TOOL_PATH_INVALID',
      message: expect.stringMatching(/not a directory/),
    })
  })

  it('T11: nothing of the host, no network, no other interpreters', async () => {
    expect(await bash('cat', ['/etc/passwd'])).toEqual(failed(/No such file/))
    for (const cmd of ['curl', 'wget', 'node', 'python3', 'js-exec', 'git', 'npm'])
      expect(await bash(cmd, ['--version'])).toEqual(failed(/exited with 127:\n.*command not found/))
    expect(String(await bash('env'))).not.toMatch(new RegExp(`${process.env['PATH'] ?? 'none'}|npm_|VITEST`))
  })

  it('output is cut at the limit', async () => {
    await put('/big', '€uro\n'.repeat(60_000))
    const output = String(await bash('cat', ['big']))
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(200_000)
    expect(output).toMatch(/\[cut: the first part of 420000 bytes/)
    expect(output).not.toContain('\uFFFD')
  })

  it('T11: cmd has 8,192 characters at most, args 128 of 8,192, time an hour', async () => {
    await expect(bash('x'.repeat(8193))).rejects.toThrow(/8192/)
    await expect(bash('echo', ['x'.repeat(8193)])).rejects.toThrow(/8192/)
    await expect(
      bash(
        'echo',
        Array.from({ length: 129 }, () => 'x'),
      ),
    ).rejects.toThrow(/128/)
    await expect(bash('echo', [], { timeoutMs: 3_600_001 })).rejects.toThrow(/3600000/)
  })
})

describe('an end', () => {
  it('T11, VB2: too late is PROCESS_TIMEOUT, and nothing is kept', async () => {
    await expect(sh('echo x > b.txt; sleep 100', { timeoutMs: 30 })).rejects.toMatchObject({
      code: 'PROCESS_TIMEOUT',
      message: expect.stringMatching(/30 ms/),
    })
    expect(await look((files) => files.exists('/b.txt'))).toBe(false)
  })

  it('T11: a command that says nothing of time has 60 s', async () => {
    const clock = manualClock()
    const { signal } = new AbortController()
    const ended = thread.call((files) => runCommand({ files, signal }, { cmd: 'sleep', args: ['100'] }, clock))
    await until('the command to begin', () => clock.pending > 0)
    clock.advance(59_999)
    expect(clock.pending).toBe(1)
    clock.advance(1)
    await expect(ended).rejects.toMatchObject({
      code: 'PROCESS_TIMEOUT',
      message: expect.stringMatching(/^sleep did not end within 60000 ms/),
    })
  })

  it('T14, VB2: an abort ends it at once, with its reason', async () => {
    const controller = new AbortController()
    const why = new SkeinError('CANCELLED', 'not wanted any more')
    const ended = sh('while true; do sleep 100; done', { signal: controller.signal })
    setImmediate(() => controller.abort(why))
    await expect(ended).rejects.toBe(why)
    await expect(sh('echo hi', { signal: controller.signal })).rejects.toBe(why)
  })

  it('VB2: a loop that lets no timer fire is ended in time too', async () => {
    await expect(sh('while true; do :; done', { timeoutMs: 50 })).rejects.toMatchObject({ code: 'PROCESS_TIMEOUT' })
  })

  it('what has no end ends by itself', async () => {
    expect(await sh('i=0; while true; do i=$((i+1)); done')).toEqual(failed(/too many|iterations/))
    expect(await sh('f() { f; }; f')).toEqual(failed(/recursion/))
  })
})

describe('files', () => {
  it('change as they do in a shell', async () => {
    await sh(
      'mkdir -p d/e; echo new > d/e/f; echo more >> d/e/f; cp d/e/f g; mv g h; rm a.txt; touch t; tail -n 1 h > last',
    )
    const tree = await look(async (files) =>
      Promise.all(
        (await files.find('**')).map(async (path) => [
          path,
          (await files.stat(path)).kind === 'file' ? await files.readFile(path, 'utf8') : 'dir',
        ]),
      ),
    )
    expect(Object.fromEntries(tree)).toEqual({
      '/d': 'dir',
      '/d/e': 'dir',
      '/d/e/f': 'new\nmore\n',
      '/h': 'new\nmore\n',
      '/last': 'more\n',
      '/t': '',
    })
    await sh('cp -r d copy; rm -r d; cp copy/e/f /')
    expect(await look((files) => files.find('**'))).toEqual([
      '/copy',
      '/copy/e',
      '/copy/e/f',
      '/f',
      '/h',
      '/last',
      '/t',
    ])
  })

  it('mv replaces what is there, whatever it is called and however it is asked for', async () => {
    for (const [script, left] of [
      ['echo new > b; mv b a.txt', 'a.txt'],
      ['echo new > b; mv -f b a.txt', 'a.txt'],
      ['echo new > b; mkdir d; echo old > d/b; mv b d', 'a.txt d'],
      ['echo new > b; mkdir d; echo old > d/b; mv b d/', 'a.txt d'],
      ['echo new > b; echo old > target; ln -s target l; mv b l', 'a.txt l target'],
      ['echo new > b; echo old > c; ln -s c l; mv l b; cat b', 'a.txt b c'],
      ['mkdir d e; echo x > d/x; mkdir e/d; mv d e', 'a.txt e'],
      ['echo new > b; mv -n b a.txt', 'a.txt b'],
    ] as const) {
      thread = createThreadFiles()
      await put('/a.txt', 'old')
      expect(await sh(`${script} && ls | tr '\\n' ' '`), script).toMatch(new RegExp(`${left} $`))
    }
    thread = createThreadFiles()
    await put('/a.txt', 'old')
    expect(await sh('echo new > b; chmod 600 b; mv b a.txt; cat a.txt; stat -c %a a.txt; ls')).toBe('new\n600\na.txt\n')
  })

  it('errors are those of a shell', async () => {
    await put('/d/x', 'x')
    expect(await sh('echo x > d')).toEqual(failed(/d: Is a directory/))
    expect(await sh('echo x > a.txt/b')).toEqual(failed(/ENOTDIR/))
    expect(await sh('cat gone || echo went on')).toBe('went on\ncat: gone: No such file or directory\n')
    expect(await sh('cat d')).toEqual(failed(/sh exited with 1/))
    expect(await sh('mkdir d')).toEqual(failed(/File exists/))
    expect(await sh('mkdir no/way')).toEqual(failed(/No such file/))
    expect(await sh('rmdir d')).toEqual(failed(/not empty/))
    expect(await sh('rm d')).toEqual(failed(/Is a directory/))
    expect(await sh('rm gone')).toEqual(failed(/No such file/))
    expect(await sh('cp d e')).toEqual(failed(/directory/))
    expect(await sh('mv gone e')).toEqual(failed(/No such file/))
    expect(await sh('cd a.txt')).toEqual(failed(/Not a directory/))
    expect(await sh('rm -f gone; ls -d d')).toBe('d\n')
  })

  it('links and modes', async () => {
    expect(await sh('ln -s a.txt l; cat l; readlink l; readlink -f l')).toBe('one\ntwo\nthree\na.txt\n/a.txt\n')
    expect(await look((files) => files.readlink('/l'))).toBe('a.txt')
    expect(await sh('echo changed > l; cat a.txt; rm l; ls')).toBe('changed\na.txt\n')
    expect(await sh('ln a.txt hard; cat hard; ln a.txt hard')).toEqual(
      failed(/^sh exited with 1:\nchanged\n.*File exists/),
    )
    await sh('ln -s gone dangling; chmod 750 a.txt')
    expect(await sh('cat dangling')).toEqual(failed(/No such file/))
    expect((await look((files) => files.stat('/a.txt'))).mode & 0o777).toBe(0o750)
    await put('/script', '#!/bin/bash\necho "ran $1"\n')
    expect(await bash('./script', ['x'])).toEqual(failed(/Permission denied/))
    await bash('chmod', ['+x', 'script'])
    expect(await bash('./script', ['x'])).toBe('ran x\n')
  })

  it('ls tells what each name is, and when it was changed', async () => {
    await look(async (files) => {
      await files.writeFile('/d/run.sh', '#', { mode: 0o755 })
      await files.writeFile('/d/.hidden', '')
      await files.mkdir('/d/sub')
      await files.symlink('../a.txt', '/d/link')
      await files.symlink('nowhere', '/d/gone')
      await files.symlink('sub', '/d/dirlink')
    })
    expect(await sh('ls d; ls -A d; ls -F d')).toBe(
      'dirlink\ngone\nlink\nrun.sh\nsub\n.hidden\ndirlink\ngone\nlink\nrun.sh\nsub\ndirlink@\ngone@\nlink@\nrun.sh*\nsub/\n',
    )
    expect(await sh('ls -la d')).toBe(
      [
        'total 1',
        'drwxr-xr-x 1 user user 0 Jan  1  1970 .',
        'drwxr-xr-x 1 user user 0 Jan  1  1970 ..',
        '-rw-r--r-- 1 user user 0 Jan  1  1970 .hidden',
        'lrwxrwxrwx 1 user user 3 Jan  1  1970 dirlink -> sub',
        'lrwxrwxrwx 1 user user 7 Jan  1  1970 gone -> nowhere',
        'lrwxrwxrwx 1 user user 8 Jan  1  1970 link -> ../a.txt',
        '-rwxr-xr-x 1 user user 1 Jan  1  1970 run.sh',
        'drwxr-xr-x 1 user user 0 Jan  1  1970 sub',
        '',
      ].join('\n'),
    )
    expect(await sh('ls -l a.txt d/link; ls -ld d d/dirlink')).toBe(
      '-rw-r--r-- 1 user user 14 Jan  1  1970 a.txt\nlrwxrwxrwx 1 user user  8 Jan  1  1970 d/link -> ' +
        '../a.txt\ndrwxr-xr-x 1 user user 0 Jan  1  1970 d\nlrwxrwxrwx 1 user user 3 Jan  1  1970 d/dirlink -> sub\n',
    )
    expect(await sh('ls d/dirlink; ls -R d')).toBe('d:\ndirlink\ngone\nlink\nrun.sh\nsub\n\nd/sub:\n')
  })

  it('ls sorts, counts in larger units, and says what is not there', async () => {
    await put('/big', 'x'.repeat(300_000))
    await put('/b', 'xx')
    expect([await sh('ls'), await sh('ls -t'), await sh('ls -S'), await sh('ls -rS'), await sh('ls -r1')]).toEqual([
      'a.txt\nb\nbig\n',
      'b\nbig\na.txt\n',
      'big\na.txt\nb\n',
      'b\na.txt\nbig\n',
      'big\nb\na.txt\n',
    ])
    expect(await sh('ls -lh big; ls --human-readable -l b')).toBe(
      '-rw-r--r-- 1 user user 293K Jan  1  1970 big\n-rw-r--r-- 1 user user 2 Jan  1  1970 b\n',
    )
    expect(await sh('ls b none a.txt; echo $?')).toBe(
      "a.txt\nb\n2\nls: cannot access 'none': No such file or directory\n",
    )
    expect(await sh('ls a.txt/x')).toEqual(failed(/ls: cannot access 'a\.txt\/x': Not a directory/))
    expect(await sh('ls -Z')).toEqual(failed(/ls: invalid option -- 'Z'/))
    expect(await sh('ls *.none')).toEqual(failed(/ls: cannot access '\*\.none'/))
    expect(await sh('ls --color=never -- b')).toBe('b\n')
  })

  it('the time of today is told by the minute', async () => {
    const now = new Date(systemClock.now())
    const copy = createWorkingCopy(async () =>
      createTreeSource({
        tree: applyChanges(emptyTree, [{ op: 'dir', path: '/today' }], now.getTime()),
        at: 0,
        quotaBytes: 0,
        blobs: { put: () => Promise.reject(new Error('no content here')), get: () => (async function* () {})() },
      }),
    )
    const listed = String(await run('bash', { cmd: 'ls', args: ['-ld', 'today'] }, { files: copy.files }))
    expect(listed).toMatch(
      new RegExp(` ${String(now.getUTCDate()).padStart(2)} ${now.toISOString().slice(11, 16)} today\n$`),
    )
  })

  it('bytes stay what they are', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
    await put('/raw', bytes)
    await sh(
      'cp raw copy; cat raw > through; cat raw raw | head -c 256 > piped; gzip -c raw | gunzip -c > zipped; ' +
        'base64 raw | base64 -d > decoded',
    )
    for (const name of ['copy', 'through', 'piped', 'zipped', 'decoded']) {
      expect(Buffer.from(await look((files) => files.readFile(`/${name}`))).equals(bytes), name).toBe(true)
    }
  })

  it('devices and the places of commands are no files', async () => {
    expect(
      await sh(
        'echo gone > /dev/null; cat /dev/null; cat < /dev/null; echo err > /dev/stderr; which cat; [ -x /bin/ls ] ' +
          '&& echo there',
      ),
    ).toBe('/usr/bin/cat\nthere\nerr\n')
    expect(await sh('ls /; find / -type f')).toBe('a.txt\n/a.txt\n')
    expect(await sh('echo x > /bin/cat')).toEqual(failed(/sh exited with 1/))
    await put('/usr/bin/mine', 'echo mine')
    await bash('chmod', ['+x', '/usr/bin/mine'])
    expect(await sh('mine; cat a.txt | wc -l')).toMatch(/^mine\n\s*3\n$/)
  })

  it('a command reads what it needs and no more', async () => {
    await put('/other', 'x')
    const strong = (): readonly string[] => thread.reads().filter((read) => /^(node|list|deep) /.test(read))
    await bash('cat', ['a.txt'])
    expect(strong()).toEqual(['node /a.txt'])
    await sh('echo hi > new; echo ho')
    expect(strong()).toEqual([])
    await sh('echo hi | tr h H')
    expect(thread.reads()).toEqual([])
  })

  it('times are those of the step', async () => {
    await put('/later', 'x')
    expect(await sh('[ later -nt a.txt ] && echo newer; touch a.txt; [ a.txt -nt later ] || echo not')).toBe(
      'newer\nnot\n',
    )
    expect(await look(async (files) => (await files.stat('/a.txt')).at)).toBe(1000)
  })

  it('the usual tools are there', async () => {
    await put('/data.json', '[{"n":1},{"n":2}]')
    expect(
      await sh(
        `jq '[.[].n] | add' data.json; awk 'NR==2' a.txt; sed -n 's/three/3/p' a.txt; grep -rn two . ; sqlite3 ` +
          `:memory: 'select 40+2'`,
      ),
    ).toBe('3\ntwo\n3\na.txt:2:two\n42\n')
    await sh('tar cf a.tar a.txt; mkdir x; tar xf a.tar -C x; diff a.txt x/a.txt')
    expect(await bash('cat', ['x/a.txt'])).toBe('one\ntwo\nthree\n')
  })
})

it('commands of several calls at once do not disturb each other', async () => {
  const files = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const own = createThreadFiles()
      await own.call((each) =>
        run(
          'bash',
          { cmd: 'sh', args: ['-c', `for i in 1 2 3; do echo ${index} >> f; done; sleep 0.01; cat f`] },
          { files: each },
        ),
      )
      return own.call((each) => each.readFile('/f', 'utf8'))
    }),
  )
  expect(files).toEqual(Array.from({ length: 8 }, (_, index) => `${index}\n`.repeat(3)))
})
