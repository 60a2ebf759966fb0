/** The commands that look at a store or speak to its host, with a host in another process and without one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Skein, Thread } from '../../../src/index.js'
import { app, objects, place } from './binary.js'

const keptNote = 'kept; will be carried out when a host opens the store\n'

describe('without a host', () => {
  const { seed, skein, spawned } = place(afterAll)

  beforeAll(() => seed({ agent: 'echo', id: 't1', tags: ['demo'] }, { agent: 'broken', id: 't2' }))

  it('C1: ps lists and filters', async () => {
    const names = async (...args: readonly string[]) => {
      const { threads } = objects((await skein(['ps', '--json', ...args])).stdout)[0] as {
        threads: readonly { thread: string }[]
      }
      return threads.map(({ thread }) => thread)
    }
    expect(await names()).toEqual(['t1', 't2'])
    expect(await names('--status', 'failed')).toEqual(['t2'])
    expect(await names('--agent', 'echo', '--tag', 'demo')).toEqual(['t1'])
    const { code, stdout, stderr } = await spawned(['ps', '--limit', '1'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^THREAD +STATUS +AGENT +UPDATED +TAGS\nt2 +failed +broken +[\d: -]+\n$/)
    expect(stderr).toContain('older threads are not shown')
  })

  it('C1: show gives the thread and its last messages', async () => {
    const { code, stdout } = await skein(['show', 't1', '--limit', '1'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^thread +t1\nagent +echo\nstatus +idle\ntags +demo\n/)
    expect(stdout).toMatch(/… 1 earlier messages.*\n\nassistant [\d:]+\nyou said: one\n$/s)
  })

  it('C1, L3: show --context gives what the model would read', async () => {
    const { code, stdout } = await skein(['show', 't1', '--context'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^user [\d:]+\none\n\nassistant [\d:]+\nyou said: one\n\n/)
    expect(stdout).toMatch(/the model reads 2 messages; nothing limits how many\nnothing was left out\n$/)
    expect(objects((await skein(['show', 't1', '--context', '--json'])).stdout)[0]).toMatchObject({
      thread: 't1',
      leftOut: [],
    })
  })

  it('C1: tail --no-follow gives the events so far, from a cursor on', async () => {
    const all = objects((await skein(['tail', 't1', '--no-follow', '--json'])).stdout)
    expect(all.map(({ type }) => type)).toEqual([
      'thread.created',
      'message.received',
      'turn.started',
      'model.replied',
      'turn.ended',
    ])
    const from = async (cursor: unknown) => skein(['tail', 't1', '--no-follow', '--from', String(cursor)])
    expect((await from(all[0]?.['cursor'])).stdout).toMatch(
      /^[\d:]+ message.received user: one\n[\d:]+ turn.started\n[\d:]+ model.replied step 1: you said: one\n[\d:]+ turn.ended completed\n$/,
    )
    expect(await from(all.at(-1)?.['cursor'])).toMatchObject({ code: 0, stdout: '' })
    expect(await from('nonsense')).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringContaining('is not a cursor'),
    })
  })

  it.each([
    ['show', 'nothing'],
    ['tail', 'nothing'],
    ['send', 'nothing', 'hi'],
    ['cancel', 'nothing'],
  ])('C1: %s of an unknown thread exits 4', async (...args) => {
    expect(await skein(args)).toMatchObject({
      code: 4,
      stdout: '',
      stderr: 'skein: there is no thread "nothing" in this store\n',
    })
  })

  it('C1: send keeps the message, and the next host answers it', async () => {
    expect(await skein(['send', 't1', 'two'])).toMatchObject({ code: 0, stdout: '', stderr: keptNote })
    expect(objects((await skein(['send', 't1', 'three', '--id', 'mine', '--new-turn', '--json'])).stdout)).toEqual([
      { thread: 't1', run: 'mine', state: 'kept' },
    ])
    expect(await skein(['run', app, '--thread', 't1'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('you said: three\n'),
    })
  })

  it('C1: send --wait has nothing to wait for and exits 1', async () => {
    expect(await skein(['send', 't1', 'four', '--wait'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(keptNote),
    })
  })

  it('C1: pause is kept; the paused thread takes a message and waits: exit 3', async () => {
    expect(await skein(['pause', 't1'])).toMatchObject({ code: 0, stdout: '', stderr: keptNote })
    expect(await skein(['run', app, '--thread', 't1', 'five'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('‖ paused'),
    })
    expect(await skein(['run', app, '--thread', 't1'])).toMatchObject({ code: 0, stdout: 'you said: five\n' })
  })
})

describe('with a host in another process', () => {
  const { host: open, skein, spawned, start } = place(afterAll)
  let host: Skein

  beforeAll(async () => {
    host = await open()
  })
  afterAll(() => host.close())

  const idle = async (id: string): Promise<Thread> => {
    const thread = await host.threads.create({ agent: 'echo', id })
    await thread.send('one').result()
    return thread
  }

  /** Its turn has called a tool and never ends by itself. */
  const busy = async (id: string): Promise<Thread> => {
    const thread = await host.threads.create({ agent: 'gated', id })
    for await (const event of thread.send('go').fullStream) if (event.type === 'tool.result') break
    return thread
  }

  const watching = async (id: string) => {
    const watcher = start(['run', app, '--thread', id])
    await watcher.says('✓ add')
    return watcher
  }

  it('C1: ps, show and tail see its threads; Ctrl-C ends tail with 130', async () => {
    const thread = await busy('seen')
    expect((await skein(['ps', '--status', 'thinking'])).stdout).toContain('seen')
    expect((await skein(['show', 'seen'])).stdout).toContain('{"sum":4}')
    const tail = start(['tail', 'seen'])
    await tail.says('✓ add')
    await thread.send('hurry up').accepted()
    await tail.says('message.received user: hurry up')
    tail.child.kill('SIGINT')
    expect((await tail.ended).code).toBe(130)
  })

  it('L5: ps and tree say that a thread waits for a model, its place, and until when', async () => {
    const [first, second] = [
      await host.threads.create({ agent: 'limited', id: 'first' }),
      await host.threads.create({ agent: 'limited', id: 'second' }),
    ]
    for (const thread of [first, second])
      for await (const event of thread.send('go').fullStream) if (event.type === 'model.waiting') break
    const { stdout } = await skein(['ps', '--agent', 'limited'])
    expect(stdout).toMatch(
      / WAITS FOR\nfirst .* model limited: place 1, not before [\d:]+\nsecond .* model limited: place 2, not before [\d:]+\n$/,
    )
    expect((await skein(['tree', 'second'])).stdout).toMatch(/thinking +model limited: place 2, not before [\d:]+ /)
    for (const thread of [first, second]) await thread.cancel()
  })

  it('C1: send is answered, and --wait shows the turn', async () => {
    await idle('sent')
    expect(objects((await skein(['send', 'sent', 'two', '--id', 'mine', '--json'])).stdout)).toEqual([
      { thread: 'sent', run: 'mine', state: 'accepted' },
    ])
    expect(await spawned(['send', 'sent', '-', '--wait'], { input: 'three' })).toMatchObject({
      code: 0,
      stdout: 'you said: three\n',
    })
  })

  it('C1: run uses that host', async () => {
    const { code, stdout, stderr } = await spawned(['run', app, '--agent', 'helper', '--thread', 'there', 'go'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'let me see\nthe sum is 3\n' })
    expect(stderr).toMatch(/another process \(pid \d+\) serves .*; the turn runs there/)
    expect(await skein(['run', app, '--agent', 'nobody', 'go'])).toMatchObject({ code: 4, stdout: '' })
  })

  it('C1: Ctrl-C leaves a turn that runs in that host alone, and says how to watch it', async () => {
    const thread = await busy('left')
    const watcher = await watching('left')
    watcher.child.kill('SIGINT')
    const { code, stderr } = await watcher.ended
    expect(code).toBe(130)
    expect(stderr).toMatch(
      /✓ add [\d.]+ m?s\nthe turn goes on in its host; watch it with: skein tail left --store .*\n$/,
    )
    expect(await thread.status()).toBe('thinking')
  })

  it('C1: cancel ends the turn: run exits 2', async () => {
    await busy('cancelled')
    const watcher = await watching('cancelled')
    expect(await skein(['cancel', 'cancelled', '--reason', 'changed my mind'])).toMatchObject({
      code: 0,
      stdout: 'cancelled\n',
    })
    expect(await watcher.ended).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('✗ cancelled (changed my mind)'),
    })
  })

  it('C1: what changes nothing says so', async () => {
    await idle('calm')
    expect(await skein(['cancel', 'calm'])).toMatchObject({ code: 0, stdout: 'no turn was running; it is idle\n' })
    expect(objects((await skein(['resume', 'calm', '--json'])).stdout)).toEqual([
      { thread: 'calm', state: 'accepted', changed: false, status: 'idle' },
    ])
  })

  it('C1: pause makes run exit 3, once; resume lets the thread go on', async () => {
    const thread = await busy('paused')
    const watcher = await watching('paused')
    expect(await skein(['pause', 'paused'])).toMatchObject({ code: 0, stdout: 'paused\n' })
    expect((await watcher.ended).code).toBe(3)
    expect(await skein(['pause', 'paused'])).toMatchObject({ code: 0, stdout: 'nothing was changed; it is paused\n' })
    expect(await skein(['resume', 'paused'])).toMatchObject({ stdout: 'resumed\n' })
    expect(await thread.status()).toBe('thinking')
  })

  it('C1: terminate ends the thread: run exits 2, and messages are refused with 4', async () => {
    await busy('over')
    const watcher = await watching('over')
    expect(await skein(['terminate', 'over'])).toMatchObject({ code: 0, stdout: 'terminated\n' })
    expect((await watcher.ended).code).toBe(2)
    expect(await skein(['terminate', 'over'])).toMatchObject({
      code: 0,
      stdout: 'nothing was changed; it is terminated\n',
    })
    expect(await skein(['send', 'over', 'hello?'])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('takes no more messages'),
    })
    expect((await skein(['ps'])).stdout).not.toContain('over')
    expect((await skein(['ps', '--all'])).stdout).toContain('over')
  })
})
