/** What a prompt reads of earlier turns. */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, Prompt } from '../../../../src/agent/define.js'
import type { Message } from '../../../../src/core/records/message.js'
import type { ModelRequest } from '../../../../src/models/port.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { ScriptedReply } from '../../../../src/models/scripted.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { onEveryStore } from '../../../helpers/world.js'

const short = (messages: readonly Message[]): string =>
  messages
    .map(({ role, text, calls: asked = [] }) => `${role[0]}:${text}${asked.map(({ tool }) => `→${tool}`).join('')}`)
    .join(' ')

/** An agent that looks, then answers; `seen` is what each request held. */
function app(
  flags: Pick<Prompt, 'includeChat' | 'includePastTools'>,
  seen: string[],
  script?: (request: ModelRequest) => ScriptedReply,
): readonly Definition[] {
  const answer = ({ messages }: ModelRequest): ScriptedReply =>
    messages.at(-1)?.role === 'user' ? { text: 'hm', ...Object(calls('look')) } : `done ${messages.length}`
  return [
    looseTool('look', () => 'seen'),
    defineModel({
      name: 'm',
      model: scriptedModel((request) => {
        seen.push(short(request.messages))
        return (script ?? answer)(request)
      }),
      maxRetries: 0,
    }),
    definePrompt({ name: 'p', prompt: 'x', model: 'm', tools: ['look'], ...flags }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
}

onEveryStore('the window of a prompt', (world) => {
  it.each<[string, Pick<Prompt, 'includeChat' | 'includePastTools'>, string]>([
    ['everything', {}, 'u:one a:hm→look t:seen a:done 3 u:two'],
    ['no chat', { includeChat: false }, 'a:→look t:seen u:two'],
    ['no calls', { includePastTools: false }, 'u:one a:hm a:done 3 u:two'],
    ['this turn alone', { includeChat: false, includePastTools: false }, 'u:two'],
  ])('D5: %s', async (_, flags, second) => {
    const seen: string[] = []
    const skein = await world.open(app(flags, seen))
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    for (const text of ['one', 'two', 'three']) await thread.send(text).text()
    // Of its own turn it reads all, whatever it reads of others.
    expect(seen.slice(0, 4)).toEqual(['u:one', 'u:one a:hm→look t:seen', second, `${second} a:hm→look t:seen`])
    expect(seen[4]).toMatch(/ ?u:three$/)
    expect((await thread.messages()).filter(({ role }) => role === 'user')).toHaveLength(3)
  })

  it('D5: the same from a snapshot, after a restart, and when a turn that failed is tried again', async () => {
    const seen: string[] = []
    let broken = true
    const script = ({ messages, step }: ModelRequest): ScriptedReply => {
      const last = messages.findLast(({ role }) => role === 'user')?.text
      if (last === 'two' && step === 1 && broken) return { error: 'the provider refused' }
      return messages.at(-1)?.role === 'user' ? calls('look') : 'done'
    }
    const flags = { includeChat: false, includePastTools: false }
    const skein = await world.open(app(flags, seen, script), { snapshotEvery: 3 })
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('one').text()
    expect((await thread.send('two').result()).stopReason).toBe('failed')
    await world.close(skein)
    broken = false
    const again = await world.open(app(flags, seen, script), { snapshotEvery: 3 })
    const resumed = await again.threads.get('t')
    await resumed.resume()
    await resumed.settled()
    expect(seen.at(-1)).toBe('u:two a:→look t:seen')
    await resumed.send('three').text()
    expect(seen.slice(-2)).toEqual(['u:three', 'u:three a:→look t:seen'])
  })

  it('a list that a model was given stays as it was', async () => {
    const seen: string[] = []
    const lists: (readonly Message[])[] = []
    const skein = await world.open(
      app({ includePastTools: false }, seen, ({ messages }) => {
        lists.push(messages)
        return messages.at(-1)?.role === 'user' ? { text: 'hm', ...Object(calls('look')) } : 'done'
      }),
    )
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    for (const text of ['one', 'two', 'three']) await thread.send(text).text()
    expect(lists[0]).toBe(lists[1])
    expect(lists[2]).toBe(lists[3])
    expect(short(lists[1] ?? [])).toBe('u:one a:hm→look t:seen')
    expect(short(lists[3] ?? [])).toBe('u:one a:hm a:done u:two a:hm→look t:seen')
  })

  it('nothing is copied where nothing of the last turn is left out', async () => {
    const lists: (readonly Message[])[] = []
    const skein = await world.open(
      app({ includePastTools: false }, [], ({ messages }) => {
        lists.push(messages)
        return 'done'
      }),
    )
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    for (const text of ['one', 'two', 'three']) await thread.send(text).text()
    expect(new Set(lists).size).toBe(1)
    expect(short(lists[0] ?? [])).toBe('u:one a:done u:two a:done u:three')
  })
})
