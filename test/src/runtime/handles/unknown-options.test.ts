/**
 * Every method of the public API that takes an object of options refuses one that it does not know, by name, and does
 * nothing. A method that returns a promise, an iteration or a run never throws by itself: who waits hears of it.
 */
import { beforeAll, afterAll, describe, expect, it } from 'vitest'
import {
  connectSkein,
  createSkein,
  diagnose,
  fromAiSdk,
  fromMcp,
  fromTools,
  hostTools,
  local,
  memory,
  nats,
} from '../../../../src/index.js'
import type { Run, Skein, Thread } from '../../../../src/index.js'
import { pinRequests, replay, scriptedModel, simulate, simulateFile } from '../../../../src/testing.js'
import { isObject } from '../../../../src/core/json.js'
import { looseTool, tinyApp } from '../../../helpers/app.js'

interface Handles {
  readonly skein: Skein
  readonly thread: Thread
  readonly run: Run
}

const bogus = { bogus: 1 }

/** The method with these arguments and the unknown option behind them, past the compiler. */
function call(target: object, method: string, ...args: readonly unknown[]): unknown {
  return Reflect.apply(Reflect.get(target, method), target, [...args, bogus])
}

const methods: Readonly<Record<string, (handles: Handles) => unknown>> = {
  'threads.create': ({ skein }) => Reflect.apply(skein.threads.create, skein.threads, [{ agent: 'helper', ...bogus }]),
  'threads.delete': ({ skein }) => call(skein.threads, 'delete', 't'),
  'threads.list': ({ skein }) => call(skein.threads, 'list'),
  'inbox.list': ({ skein }) => call(skein.inbox, 'list'),
  'inbox.watch': ({ skein }) => Reflect.apply(skein.inbox.watch, skein.inbox, [{ root: 't', ...bogus }]),
  'inbox.approve': ({ skein }) => call(skein.inbox, 'approve', 't/call_1_0'),
  'inbox.reject': ({ skein }) => call(skein.inbox, 'reject', 't/call_1_0'),
  'inbox.answer': ({ skein }) => call(skein.inbox, 'answer', 't/call_1_0', 1),
  'variables.decline': ({ skein }) => call(skein.variables, 'decline', 't', 'req_1'),
  'deadLetters.list': ({ skein }) => call(skein.deadLetters, 'list'),
  events: ({ skein }) => Reflect.apply(skein.events, skein, [{ root: 't', ...bogus }]),
  'thread.messages': ({ thread }) => call(thread, 'messages'),
  'thread.send': ({ thread }) => call(thread, 'send', 'hi'),
  'thread.send of an object': ({ thread }) => Reflect.apply(thread.send, thread, [{ text: 'hi', ...bogus }]),
  'thread.inject': ({ thread }) => call(thread, 'inject', 'hi'),
  'thread.cancel': ({ thread }) => call(thread, 'cancel'),
  'thread.pause': ({ thread }) => call(thread, 'pause'),
  'thread.resume': ({ thread }) => call(thread, 'resume'),
  'thread.terminate': ({ thread }) => call(thread, 'terminate'),
  'thread.grant': ({ thread }) => call(thread, 'grant', { tokens: 1 }),
  'thread.events': ({ thread }) => call(thread, 'events'),
  'thread.view': ({ thread }) => call(thread, 'view'),
  'thread.view, now': ({ thread }) => Reflect.apply(thread.view, thread, [bogus]).now(),
  'thread.export': ({ thread }) => call(thread, 'export'),
  'thread.settled': ({ thread }) => call(thread, 'settled'),
  'thread.schedule': ({ thread }) => Reflect.apply(thread.schedule, thread, ['note', {}, { delayMs: 1, ...bogus }]),
  'files.readFile': ({ thread }) => call(thread.files, 'readFile', '/a'),
  'files.writeFile': ({ thread }) => call(thread.files, 'writeFile', '/a', 'x'),
  'files.writeStream': ({ thread }) => call(thread.files, 'writeStream', '/a', []),
  'files.mkdir': ({ thread }) => call(thread.files, 'mkdir', '/d'),
  'files.rm': ({ thread }) => call(thread.files, 'rm', '/a'),
  'files.grep': ({ thread }) => call(thread.files, 'grep', 'x'),
  'files.find': ({ thread }) => call(thread.files, 'find', '*'),
  'run.result': ({ run }) => call(run, 'result'),
  'run.text': ({ run }) => call(run, 'text'),
  'run.toolCalls': ({ run }) => call(run, 'toolCalls'),
  'run.view': ({ run }) => call(run, 'view'),
  'run.streams': ({ run }) => Reflect.apply(run.streams, run, [bogus]).textStream,
  createSkein: () => Reflect.apply(createSkein, undefined, [{ app: [], backend: memory(), ...bogus }]),
  connectSkein: () => Reflect.apply(connectSkein, undefined, [{ backend: memory(), ...bogus }]),
  diagnose: () => Reflect.apply(diagnose, undefined, [bogus]),
  replay: () => Reflect.apply(replay, undefined, ['/nowhere', { app: [], ...bogus }]),
  pinRequests: () => Reflect.apply(pinRequests, undefined, ['/nowhere', { app: [], ...bogus }]),
  simulate: () => Reflect.apply(simulate, undefined, [{ app: [], scenario: () => undefined, ...bogus }]),
  simulateFile: () => Reflect.apply(simulateFile, undefined, ['/nowhere.ts', bogus]),
}

/** What defines something throws at once: its mistakes are those of a module that is loaded. */
const definitions: Readonly<Record<string, () => unknown>> = {
  local: () => Reflect.apply(local, undefined, ['/tmp', bogus]),
  nats: () => Reflect.apply(nats, undefined, [bogus]),
  hostTools: () => Reflect.apply(hostTools, undefined, [{ rootDir: '/tmp', ...bogus }]),
  fromTools: () => Reflect.apply(fromTools, undefined, [[], bogus]),
  'fromTools, byName': () => Reflect.apply(fromTools, undefined, [[], { byName: { a: bogus } }]),
  fromMcp: () => Reflect.apply(fromMcp, undefined, [{ name: 'fs', command: 'fs' }, bogus]),
  'fromMcp, byName': () => Reflect.apply(fromMcp, undefined, [{ name: 'fs', command: 'fs' }, { byName: { a: bogus } }]),
  fromAiSdk: () => {
    const model = { specificationVersion: 'v3', provider: 'p', modelId: 'm', doStream: () => undefined }
    return Reflect.apply(fromAiSdk, undefined, [model, bogus])
  },
  scriptedModel: () => Reflect.apply(scriptedModel, undefined, [[], bogus]),
}

/** What a caller hears who waits for it. */
async function heard(value: unknown): Promise<unknown> {
  try {
    if (isObject(value) && 'accepted' in value && typeof value['accepted'] === 'function')
      return await Reflect.apply(value['accepted'], value, [])
    if (isIteration(value)) return await value[Symbol.asyncIterator]().next()
    return await value
  } catch (thrown) {
    return thrown
  }
}

function isIteration(value: unknown): value is AsyncIterable<unknown> {
  return isObject(value) && Symbol.asyncIterator in value
}

const refused = { code: 'BAD_OPTION', message: expect.stringContaining('bogus') }

describe('an option that is unknown', () => {
  let handles: Handles
  beforeAll(async () => {
    const { app } = tinyApp({ script: () => 'done', tools: [looseTool('note', () => 'noted')] })
    const skein = await createSkein({ app, backend: memory() })
    const thread = await skein.threads.create({ agent: 'helper', id: 't', budget: { tokens: 5 } })
    const run = thread.send('go')
    await run.text()
    handles = { skein, thread, run }
  })
  afterAll(() => handles.skein.close())

  it.each(Object.keys(methods))('F1: %s refuses it and changes nothing', async (name) => {
    const { thread } = handles
    const { seq } = await thread.info()
    expect(await heard(methods[name]?.(handles))).toMatchObject(refused)
    expect(await thread.info()).toMatchObject({ seq })
  })

  it.each(Object.keys(definitions))('F1: %s throws', (name) => {
    expect(() => definitions[name]?.()).toThrow(expect.objectContaining(refused))
  })

  it('F5: the encoding that Node has there is none', async () => {
    await handles.thread.files.writeFile('/a.txt', 'text', 'utf8')
    expect(await handles.thread.files.readFile('/a.txt', 'utf8')).toBe('text')
  })
})

it.each([
  [
    'local',
    () => Reflect.apply(local, undefined, ['a', { durabilty: 'power' }]),
    '"options.durabilty"; did you mean "durability"?',
  ],
  [
    'nats',
    () => Reflect.apply(nats, undefined, [{ server: 'nats://a' }]),
    '"server"; did you mean "servers"? there are: servers, namespace,',
  ],
  ['nats', () => Reflect.apply(nats, undefined, [{ url: 'nats://a' }]), '"url"; there are: servers, namespace,'],
])('a store of %s says in one line which option was meant', (_, make, says) => {
  expect(make).toThrow(expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(says) }))
  expect(make).not.toThrow(/\n/)
})

it('createSkein says which option was meant, also within limits, and what is missing', async () => {
  const { app } = tinyApp({ script: [] })
  const refusal = (...args: readonly unknown[]): Promise<unknown> => Reflect.apply(createSkein, undefined, args)
  await expect(refusal({ app, backand: memory() })).rejects.toThrow(
    '"backand"; did you mean "backend"? there are: app, ',
  )
  await expect(refusal({ app, backend: memory(), limits: { maxParalelTools: 3 } })).rejects.toThrow(
    '"limits.maxParalelTools"; did you mean "maxParallelTools"? there are: maxHostDeaths, ',
  )
  await expect(refusal()).rejects.toThrow('createSkein: takes an object of options; app: must be a module URL')
})
