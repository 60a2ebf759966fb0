/** The commands that look at a store or speak to its host, with a host in another process and without one. */
import { describe, expect, it } from 'vitest'
import { app, objects, place } from './binary.js'

/** A store with an idle thread `t1` of the agent echo. */
async function withThread() {
  const here = place()
  await here.skein(['run', app, '--agent', 'echo', '--thread', 't1', '--tag', 'demo', 'one'])
  return here
}

/** The same, served by a process that runs a turn of the thread `busy` which never ends by itself. */
async function withHost() {
  const here = await withThread()
  const host = here.start(['run', app, '--agent', 'gated', '--thread', 'busy', 'go'])
  await host.says('✓ add')
  return { ...here, host }
}

describe('without a host', () => {
  it('C1: ps lists and filters', async () => {
    const { skein } = await withThread()
    await skein(['run', app, '--agent', 'broken', '--thread', 't2', 'go'])
    const names = async (...args: readonly string[]) => {
      const { threads } = objects((await skein(['ps', '--json', ...args])).stdout)[0] as { threads: readonly { thread: string }[] }
      return threads.map(({ thread }) => thread)
    }
    expect(await names()).toEqual(['t1', 't2'])
    expect(await names('--status', 'failed')).toEqual(['t2'])
    expect(await names('--agent', 'echo')).toEqual(['t1'])
    expect(await names('--tag', 'demo')).toEqual(['t1'])
    expect(await names('--limit', '1')).toEqual(['t2'])
    const { code, stdout, stderr } = await skein(['ps', '--limit', '1'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^THREAD +STATUS +AGENT +UPDATED +TAGS\nt2 +failed +broken +[\d: -]+\n$/)
    expect(stderr).toContain('older threads are not shown')
  })

  it('C1: show gives the thread and its last messages', async () => {
    const { skein } = await withThread()
    const { code, stdout } = await skein(['show', 't1', '--limit', '1'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^thread +t1\nagent +echo\nstatus +idle\ntags +demo\n/)
    expect(stdout).toMatch(/… 1 earlier messages.*\n\nassistant [\d:]+\nyou said: one\n$/s)
  })

  it('C1: tail --no-follow gives the events so far, from a cursor on', async () => {
    const { skein } = await withThread()
    const all = objects((await skein(['tail', 't1', '--no-follow', '--json'])).stdout)
    expect(all.map(({ type }) => type)).toEqual(['thread.created', 'message.received', 'turn.started', 'model.replied', 'turn.ended'])
    const from = async (index: number) => skein(['tail', 't1', '--no-follow', '--json', '--from', String(all.at(index)?.['cursor'])])
    expect(objects((await from(2)).stdout)).toEqual(all.slice(3))
    expect(await from(-1)).toMatchObject({ code: 0, stdout: '' })
    expect(await skein(['tail', 't1', '--no-follow', '--from', '99.99'])).toMatchObject({ code: 4, stdout: '' })
    expect((await skein(['tail', 't1', '--no-follow'])).stdout).toMatch(/ message.received user: one\n.* turn.started\n/)
  })

  it('C1: send keeps the message, and the next host answers it', async () => {
    const { skein } = await withThread()
    const sent = await skein(['send', 't1', 'two'])
    expect(sent).toMatchObject({ code: 0, stdout: '' })
    expect(sent.stderr).toBe('kept; will be carried out when a host opens the store\n')
    expect(objects((await skein(['send', 't1', 'three', '--id', 'mine', '--new-turn', '--json'])).stdout)).toEqual([{ thread: 't1', run: 'mine', state: 'kept' }])
    expect(await skein(['run', app, '--thread', 't1'])).toMatchObject({ code: 0, stdout: expect.stringContaining('you said: three\n') })
  })

  it('C1: send --wait has nothing to wait for and exits 1', async () => {
    const { skein } = await withThread()
    expect(await skein(['send', 't1', 'two', '--wait'])).toMatchObject({ code: 1, stderr: expect.stringContaining('kept;') })
  })

  it.each(['cancel', 'pause', 'resume', 'terminate'])('C1: %s is kept', async (command) => {
    const { skein } = await withThread()
    expect(await skein([command, 't1'])).toMatchObject({ code: 0, stderr: 'kept; will be carried out when a host opens the store\n' })
  })

  it('C1: a paused thread takes a message and waits: exit 3', async () => {
    const { skein } = await withThread()
    await skein(['pause', 't1'])
    const { code, stderr } = await skein(['run', app, '--thread', 't1', 'two'])
    expect(code).toBe(3)
    expect(stderr).toContain('‖ paused')
    expect(await skein(['run', app, '--thread', 't1'])).toMatchObject({ code: 0, stdout: 'you said: two\n' })
  })

  it.each([['show', 'nothing'], ['tail', 'nothing'], ['send', 'nothing', 'hi'], ['cancel', 'nothing'], ['pause', 'nothing'], ['resume', 'nothing'], ['terminate', 'nothing']])('C1: %s of an unknown thread exits 4', async (...args) => {
    const { skein } = await withThread()
    expect(await skein(args)).toMatchObject({ code: 4, stdout: '', stderr: 'skein: there is no thread "nothing" in this store\n' })
  })

  it('C1: a folder without a store exits 4', async () => {
    const { skein } = place()
    expect(await skein(['ps'])).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('there is no Skein store in') })
  })
})

describe('with a host in another process', () => {
  it('C1: ps, show and tail see its threads; Ctrl-C ends tail with 130', async () => {
    const { skein, start } = await withHost()
    expect((await skein(['ps', '--status', 'thinking'])).stdout).toContain('busy')
    expect((await skein(['show', 'busy'])).stdout).toContain('{"sum":4}')
    const tail = start(['tail', 'busy'])
    await tail.says('✓ add')
    await skein(['send', 'busy', 'hurry up'])
    await tail.says('message.received user: hurry up')
    tail.child.kill('SIGINT')
    expect((await tail.ended).code).toBe(130)
  })

  it('C1: send is answered, and --wait shows the turn', async () => {
    const { skein } = await withHost()
    expect(objects((await skein(['send', 't1', 'two', '--id', 'mine', '--json'])).stdout)).toEqual([{ thread: 't1', run: 'mine', state: 'accepted' }])
    expect(await skein(['send', 't1', '-', '--wait'], { input: 'three' })).toMatchObject({ code: 0, stdout: 'you said: three\n' })
  })

  it('C1: run uses that host', async () => {
    const { skein } = await withHost()
    const { code, stdout, stderr } = await skein(['run', app, '--agent', 'helper', '--thread', 't9', 'go'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'let me see\nthe sum is 3\n' })
    expect(stderr).toMatch(/another process \(pid \d+\) serves .*; the turn runs there/)
    expect(await skein(['run', app, '--agent', 'nobody', 'go'])).toMatchObject({ code: 4, stdout: '' })
  })

  it('C1: Ctrl-C leaves a turn that runs in that host alone, and says how to watch it', async () => {
    const { start, skein } = await withHost()
    const watching = start(['run', app, '--thread', 'busy'])
    await watching.says('✓ add')
    watching.child.kill('SIGINT')
    const { code, stderr } = await watching.ended
    expect(code).toBe(130)
    expect(stderr).toMatch(/the turn goes on in its host; watch it with: skein tail busy --store .*\n$/)
    expect((await skein(['ps', '--status', 'thinking'])).stdout).toContain('busy')
  })

  it('C1: cancel ends the turn: run exits 2', async () => {
    const { skein, host } = await withHost()
    expect(await skein(['cancel', 'busy', '--reason', 'changed my mind'])).toMatchObject({ code: 0, stdout: 'cancelled\n' })
    const { code, stderr } = await host.ended
    expect(code).toBe(2)
    expect(stderr).toContain('✗ cancelled (changed my mind)')
  })

  it('C1: cancel of an idle thread changes nothing and says so', async () => {
    const { skein } = await withHost()
    expect(await skein(['cancel', 't1'])).toMatchObject({ code: 0, stdout: 'no turn was running; it is idle\n' })
    expect(objects((await skein(['resume', 't1', '--json'])).stdout)).toEqual([{ thread: 't1', state: 'accepted', changed: false, status: 'idle' }])
  })

  it('C1: pause makes run exit 3', async () => {
    const { skein, host } = await withHost()
    expect(await skein(['pause', 'busy'])).toMatchObject({ code: 0, stdout: 'paused\n' })
    expect((await host.ended).code).toBe(3)
    expect((await skein(['ps', '--status', 'paused'])).stdout).toContain('busy')
  })

  it('C1: terminate ends the thread: run exits 2, and messages are refused with 4', async () => {
    const { skein, host } = await withHost()
    expect(await skein(['pause', 't1'])).toMatchObject({ stdout: 'paused\n' })
    expect(await skein(['resume', 't1'])).toMatchObject({ stdout: 'resumed\n' })
    expect(await skein(['terminate', 't1'])).toMatchObject({ stdout: 'terminated\n' })
    expect(await skein(['send', 't1', 'hello?'])).toMatchObject({ code: 4, stderr: expect.stringContaining('takes no more messages') })
    expect((await skein(['ps'])).stdout).not.toContain('t1')
    expect((await skein(['ps', '--all'])).stdout).toContain('t1')
    expect(await skein(['terminate', 'busy'])).toMatchObject({ code: 0, stdout: 'terminated\n' })
    expect((await host.ended).code).toBe(2)
  })
})
