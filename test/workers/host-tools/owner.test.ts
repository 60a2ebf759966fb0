/** Whose end is the end of a command: its thread's, its host's, its time's. */
import { spawn } from 'node:child_process'
import { mkdtemp, realpath, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createCancel } from '../../../src/core/async/cancel.js'
import { manualClock } from '../../../src/core/manual-clock.js'
import { createPool } from '../../../src/pool/pool.js'
import type { ToolJob } from '../../../src/pool/port.js'
import { eventually, processesIn } from './processes.js'

let root: string
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'skein-owner-')))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))
const begun = () =>
  eventually('the command is there', async () => (await stat(join(root, 'stray')).catch(() => undefined)) !== undefined)
const left = async (): Promise<readonly number[]> => {
  await eventually('all it started are gone', () => processesIn(root).length === 0)
  return processesIn(root)
}

// Where processes are is read in /proc.
describe.runIf(process.platform === 'linux').each(['auto', 'none'])('with isolation %s', (isolation) => {
  it('T14: a thread that is ended takes its commands with it', async () => {
    const thread = new Worker(fixture('starter.mjs'), { workerData: [root, isolation] })
    await begun()
    await thread.terminate()
    expect(await left()).toEqual([])
  })

  it('T11: so does a host that is killed with -9', async () => {
    const host = spawn(process.execPath, [fixture('starter.mjs'), root, isolation], { stdio: 'ignore', cwd: tmpdir() })
    await begun()
    host.kill('SIGKILL')
    expect(await left()).toEqual([])
  })
})

// Here too.
it.runIf(process.platform === 'linux')(
  'T14: a command whose thread is held up by another body ends at its time',
  async () => {
    process.env['NODE_TEST_ROOT'] = root
    const module = await import(new URL('fixtures/stuck-app.mjs', import.meta.url).href)
    const tools = new Map([...module.tools, module.block].map((tool) => [tool.name, tool]))
    const clock = manualClock()
    const pool = await createPool(
      { tools, module: new URL('fixtures/stuck-app.mjs', import.meta.url).href },
      { clock, threads: 1, graceMs: 1_000, memoryMb: 256 },
    )
    try {
      const script = 'trap "" TERM; touch stray; while :; do sleep 100; done'
      const command = pool.run(job('bash', { cmd: 'sh', args: ['-c', script] }))
      await begun()
      const blocked = createCancel()
      const blocking = pool.run({ ...job('block', {}), cancel: blocked })
      let outcome: unknown
      void command.then((returned) => (outcome = returned.outcome))
      await eventually('its time is over', () => {
        clock.advance(1_000)
        return outcome !== undefined
      })
      expect(outcome).toMatchObject({ ok: false })
      expect(await left()).toEqual([])
      blocked.abort(new Error('enough'))
      await eventually('the body that blocks is gone', async () => {
        clock.advance(1_000)
        return (await Promise.race([blocking, undefined])) !== undefined
      })
    } finally {
      delete process.env['NODE_TEST_ROOT']
      await pool.close()
    }
  },
)

function job(tool: string, args: ToolJob['args']): ToolJob {
  const never = () => Promise.reject(new Error('there is no snapshot'))
  return {
    tool,
    args,
    threadId: 't',
    idempotencyKey: 'key',
    cancel: createCancel(),
    run: { part: 'execute' },
    env: {},
    secrets: [],
    snapshot: { open: never },
    emit: () => undefined,
  }
}
