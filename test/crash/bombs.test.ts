/**
 * Bodies that would end their whole process, in a host that is a process of its own: each costs one result, and the
 * host goes on.
 */
import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../helpers/deferred.js'

const fixture = fileURLToPath(new URL('./fixtures/bombs-host.mjs', import.meta.url))

interface Told {
  readonly id: string
  readonly log?: string
  readonly thrown?: string
  readonly outcome?: {
    readonly ok: boolean
    readonly value?: unknown
    readonly failure?: { readonly code: string; readonly message: string }
  }
}

interface Asked {
  readonly id: string
  readonly thread?: string
  readonly tool: string
  readonly args?: object
}

class BombHost {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #told: Told[] = []
  #looks: (() => void)[] = []
  #ended: string | undefined
  readonly ready: Promise<void>

  constructor(store: string, options: object = {}) {
    this.#child = spawn(process.execPath, [fixture, store, JSON.stringify(options)])
    this.#child.stderr.pipe(process.stderr)
    process.once('exit', () => this.#child.kill('SIGKILL'))
    this.#child.on('close', (code, signal) => {
      this.#ended = `the host has ended (${code ?? signal})`
      for (const look of this.#looks) look()
    })
    this.ready = new Promise((resolve) => {
      createInterface({ input: this.#child.stdout }).on('line', (line) => {
        if (line === 'ready') return resolve()
        this.#told.push(JSON.parse(line) as Told)
        for (const look of this.#looks) look()
      })
    })
  }

  ask(asked: Asked): void {
    this.#child.stdin.write(`${JSON.stringify(asked)}\n`)
  }

  heard(holds: (told: Told) => boolean): Promise<Told> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = this.#told.find(holds)
        if (found) resolve(found)
        else if (this.#ended !== undefined) reject(new Error(this.#ended))
      }
      this.#looks.push(look)
      look()
    })
  }

  /** What became of a call. */
  async outcome(asked: Asked): Promise<NonNullable<Told['outcome']>> {
    this.ask(asked)
    const { outcome } = await this.heard(
      ({ id, outcome: given, thrown }) => id === asked.id && (given ?? thrown) !== undefined,
    )
    return outcome ?? { ok: false, value: 'thrown' }
  }

  async kill(): Promise<void> {
    if (this.#ended !== undefined) return
    this.#child.kill('SIGKILL')
    await new Promise((resolve) => this.#child.once('close', resolve))
  }
}

let folder = ''
let host: BombHost
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-bombs-'))
  host = new BombHost(join(folder, 'store'), { workers: { threads: 1, memoryMb: 96, graceMs: 100 } })
  await host.ready
})
afterAll(async () => {
  await host.kill()
  await rm(folder, { recursive: true, force: true })
})

const crashed = (why: RegExp): object => ({
  ok: false,
  failure: { code: 'WORKER_CRASHED', message: expect.stringMatching(why) },
})
const well = { ok: true, value: expect.stringMatching(/^well/) }

it.each(['pushes', 'maps', 'spreads', 'sparse', 'keys', 'fills', 'parses', 'matches', 'closures'])(
  'T14: a heap that is used up (%s) costs one result, and not the host',
  async (tool) => {
    expect(await host.outcome({ id: tool, tool })).toMatchObject(crashed(/ran out of memory: a worker may have 96 MB/))
    expect(await host.outcome({ id: `after-${tool}`, tool: 'well' })).toMatchObject(well)
  },
)

it('T14: what makes V8 give up in another way (splits) costs one result too', async () => {
  expect(await host.outcome({ id: 'splits', tool: 'splits' })).toMatchObject(crashed(/died: /))
  expect(await host.outcome({ id: 'after-splits', tool: 'well' })).toMatchObject(well)
})

it.each(['calls', 'monitors'])(
  'T14: a body that writes to the lines of its worker (%s) costs one result, and not the host',
  async (tool) => {
    expect(await host.outcome({ id: tool, tool })).toMatchObject(crashed(/does not understand/))
    expect(await host.outcome({ id: `after-${tool}`, tool: 'well' })).toMatchObject(well)
  },
)

it('T14: an archive of a few KB that becomes 200 MB costs bash one result, and not the host', async () => {
  const packed = await host.outcome({ id: 'packs', thread: 'tar', tool: 'packs', args: { mb: 200 } })
  expect(packed).toMatchObject({ ok: true })
  const unpacked = await host.outcome({
    id: 'tar',
    thread: 'tar',
    tool: 'bash',
    args: { cmd: 'tar', args: ['xzf', '/bomb.tgz'] },
  })
  expect(unpacked.ok).toBe(false)
  expect(await host.outcome({ id: 'after-tar', tool: 'well' })).toMatchObject(well)
})

// Whether a process lives is read from /proc.
it.skipIf(process.platform !== 'linux')(
  'WT4: a worker does not outlive a host that is killed, whatever its body does',
  async () => {
    const dying = new BombHost(join(folder, 'dying'), { workers: { threads: 1 } })
    await dying.ready
    dying.ask({ id: 'loops', tool: 'loops' })
    const { log } = await dying.heard(({ id, log: said }) => id === 'loops' && said !== undefined)
    const pid = Number(log?.replace('pid ', ''))
    expect(isAlive(pid)).toBe(true)
    await dying.kill()
    await until('the worker to end', () => !isAlive(pid))
  },
)

/** One that has ended and was not asked for by its parent is not alive. */
function isAlive(pid: number): boolean {
  const stat = `/proc/${pid}/stat`
  return existsSync(stat) && !/\) Z /.test(readFileSync(stat, 'utf8'))
}

it('T11: a command that computes past its time is ended from outside, whatever it does', async () => {
  const nested = `${'<div>'.repeat(20_000)}${'</div>'.repeat(20_000)}`
  expect(
    await host.outcome({
      id: 'html',
      thread: 'html',
      tool: 'write',
      args: { path: '/a.html', content: nested.slice(0, 190_000) },
    }),
  ).toMatchObject({ ok: true })
  const ended = await host.outcome({
    id: 'markdown',
    thread: 'html',
    tool: 'bash',
    args: { cmd: 'html-to-markdown', args: ['/a.html'], opts: { timeoutMs: 1_000 } },
  })
  expect(ended).toMatchObject({ ok: false, failure: { code: 'PROCESS_TIMEOUT' } })
  const script =
    `i=0; while [ $i -lt 1000 ]; do i=$((i+1)); echo "$i $1"; done > /$1; sed 's/^/x/;p;p;p;p;p;p;p' ` +
    `/$1 > /$1.2; sed 'p;p;p;p;p;p;p' /$1.2 > /$1.3`
  for (const name of ['a', 'b'])
    expect(
      await host.outcome({
        id: `make-${name}`,
        thread: 'diff',
        tool: 'bash',
        args: { cmd: 'sh', args: ['-c', script, 'sh', name] },
      }),
    ).toMatchObject({ ok: true })
  const diff = await host.outcome({
    id: 'diff',
    thread: 'diff',
    tool: 'bash',
    args: { cmd: 'diff', args: ['/a.3', '/b.3'], opts: { timeoutMs: 1_000 } },
  })
  expect(diff).toMatchObject({ ok: false, failure: { code: 'PROCESS_TIMEOUT' } })
})

it('T11: the app bounds the time of a command, not the model', async () => {
  const bounded = new BombHost(join(folder, 'bounded'), { workers: { threads: 1 }, limits: { maxToolMs: 500 } })
  await bounded.ready
  const slept = await bounded.outcome({
    id: 'sleeps',
    tool: 'bash',
    args: { cmd: 'sleep', args: ['3000'], opts: { timeoutMs: 3_600_000 } },
  })
  expect(slept).toMatchObject({
    ok: false,
    failure: { code: 'PROCESS_TIMEOUT', message: expect.stringContaining('all that the app allows') },
  })
  await bounded.kill()
})

it('H4: a script that has nothing but a skein waits for its workers, and ends when it has closed', async () => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./fixtures/alone.mjs', import.meta.url))])
  let said = ''
  child.stdout.on('data', (text: Buffer) => (said += text.toString()))
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect({ code, said }).toEqual({ code: 0, said: 'done and closed' })
})
