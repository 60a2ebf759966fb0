/**
 * Parallel speed, sequential meaning: random calls run beside each other and end in random order; results, files,
 * values and transcript are those of a plain loop that does one call after the other.
 */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../../src/agent/define.js'
import type { ToolDefinition, ToolState } from '../../../../src/agent/define.js'
import { local } from '../../../../src/backend/local/local.js'
import { memory } from '../../../../src/backend/memory/memory.js'
import type { Store } from '../../../../src/backend/port.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, quiet, turn, until } from '../../../helpers/deferred.js'
import type { Deferred } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { times } from '../../../helpers/soak.js'

type Op =
  | { readonly op: 'read' | 'remove' | 'list' | 'exists' | 'find'; readonly path: string }
  | { readonly op: 'write' | 'append'; readonly path: string; readonly text: string }
  | { readonly op: 'get'; readonly key: string }
  | { readonly op: 'set'; readonly key: string; readonly value: number }
  | { readonly op: 'bump' | 'fail' | 'throw' }

interface Planned {
  readonly tool: 'ahead' | 'plain' | 'effect' | 'commuting' | 'counter'
  readonly ops: readonly Op[]
}

const path = fc.constantFrom('/a', '/b', '/d/x', '/d/y')
const dir = fc.constantFrom('/', '/d')
const text = fc.constantFrom('one', 'two', '')
const key = fc.constantFrom('k', 'l')
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constantFrom('read' as const, 'remove' as const, 'exists' as const), path }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constantFrom('list' as const, 'find' as const), path: dir }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constantFrom('write' as const, 'append' as const), path, text }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('get' as const), key }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('set' as const), key, value: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constantFrom('fail' as const, 'throw' as const) }) },
)
const planned: fc.Arbitrary<Planned> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      tool: fc.constantFrom('ahead' as const, 'plain' as const),
      ops: fc.array(op, { maxLength: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      tool: fc.constantFrom('effect' as const, 'commuting' as const),
      ops: fc.array(op, { maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      tool: fc.constant('counter' as const),
      ops: fc.array(fc.oneof(op, fc.constant<Op>({ op: 'bump' })), { maxLength: 4 }),
    }),
  },
)
const step = fc.array(planned, { minLength: 2, maxLength: 6 })

// ── the plain loop ──

interface World {
  readonly files: Map<string, string>
  readonly values: Map<string, number>
}

function names({ files }: World, at: string): string[] {
  const prefix = at === '/' ? '/' : `${at}/`
  return [
    ...new Set(
      [...files.keys()]
        .filter((file) => file.startsWith(prefix))
        .map((file) => file.slice(prefix.length).split('/')[0] ?? ''),
    ),
  ].sort()
}

function listed(world: World, made: ReadonlySet<string>, at: string): string[] {
  return [...new Set([...names(world, at), ...(at === '/' && made.has('/d') ? ['d'] : [])])].sort()
}

function below({ files }: World, at: string): string[] {
  return [...files.keys()].filter((file) => file.startsWith(at === '/' ? '/' : '/d/')).sort()
}

function plainOp(world: World, made: Set<string>, step_: Op): unknown {
  return 'path' in step_ ? onFiles(world, made, step_) : onValues(world, step_)
}

type FileOp = Extract<Op, { readonly path: string }>

function onFiles(world: World, made: Set<string>, step_: FileOp): unknown {
  const { files } = world
  switch (step_.op) {
    case 'read':
      return files.get(step_.path) ?? 'ENOENT'
    case 'exists':
      return files.has(step_.path)
    case 'remove':
      files.delete(step_.path)
      return undefined
    case 'list':
    case 'find':
      if (!made.has(step_.path)) return 'ENOENT'
      return step_.op === 'list' ? listed(world, made, step_.path) : below(world, step_.path)
    case 'write':
    case 'append': {
      const before = step_.op === 'append' ? (files.get(step_.path) ?? '') : ''
      if (step_.path.startsWith('/d/')) made.add('/d')
      files.set(step_.path, before + step_.text)
      return undefined
    }
  }
}

function onValues({ values }: World, step_: Exclude<Op, FileOp>): unknown {
  switch (step_.op) {
    case 'get':
      return values.get(step_.key) ?? null
    case 'set':
      values.set(step_.key, step_.value)
      return undefined
    case 'bump':
      values.set('shared', (values.get('shared') ?? 0) + 1)
      return values.get('shared')
    default:
      return undefined
  }
}

/** One call after the other; a throw undoes the call, a reported error does not. */
function oneByOne(steps: readonly (readonly Planned[])[]): { readonly results: unknown[]; readonly world: World } {
  let world: World = { files: new Map(), values: new Map() }
  let made = new Set(['/'])
  const results = steps.flat().map(({ ops }) => {
    const before = { world: { files: new Map(world.files), values: new Map(world.values) }, made: new Set(made) }
    const seen: unknown[] = []
    for (const each of ops) {
      if (each.op === 'throw') {
        world = before.world
        made = before.made
        return 'Error TOOL_THREW: thrown'
      }
      if (each.op === 'fail') return `Error TOOL_FAILED: ${JSON.stringify(seen)}`
      seen.push(plainOp(world, made, each) ?? null)
    }
    return JSON.stringify(seen)
  })
  return { results, world }
}

// ── the same through a thread ──

async function doOp({ files, kv }: ToolState, each: Op): Promise<unknown> {
  const codeOf = (thrown: unknown): string => String((thrown as { code?: unknown }).code)
  switch (each.op) {
    case 'read':
      return files.readFile(each.path, 'utf8').catch(codeOf)
    case 'exists':
      return files.exists(each.path)
    case 'remove':
      return files.rm(each.path, { force: true })
    case 'list':
      return files.readdir(each.path).catch(codeOf)
    case 'find':
      return files.find('**', { path: each.path }).then((found) => found.filter((one) => one !== '/d'), codeOf)
    case 'write':
      return files.writeFile(each.path, each.text)
    case 'append':
      return files.appendFile(each.path, each.text)
    case 'get':
      return kv.get(each.key)
    case 'set':
      return kv.set(each.key, each.value)
    default:
      return undefined
  }
}

const args = z.object({ number: z.number(), ops: z.array(z.looseObject({ op: z.string() })) })
const sharedSchema = z.object({ count: z.number().default(0) })

function createTools(gates: ReadonlyMap<number, Deferred<void>>, ran: number[]): ToolDefinition[] {
  const work = async (state: ToolState, { number, ops }: z.output<typeof args>): Promise<unknown> => {
    ran.push(number)
    const seen: unknown[] = []
    for (const each of ops as unknown as readonly Op[]) {
      if (each.op === 'throw') throw new Error('thrown')
      if (each.op === 'fail') {
        await gates.get(number)?.promise
        return { status: 'error', error: JSON.stringify(seen) }
      }
      if (each.op === 'bump') {
        const { count = 0 } = (state.shared ?? {}) as { count?: number }
        state.setShared({ count: count + 1 } as never)
        seen.push(count + 1)
      } else seen.push((await doOp(state, each)) ?? null)
    }
    await gates.get(number)?.promise
    return seen
  }
  const make = (name: string, more: Partial<ToolDefinition>): ToolDefinition => ({
    ...defineTool({ name, description: name, args, execute: work }),
    ...more,
  })
  return [
    make('ahead', { sideEffect: false }),
    make('plain', {}),
    make('effect', { sideEffect: true, idempotent: true }),
    make('commuting', { sideEffect: true, commutes: true, idempotent: true }),
    make('counter', { sideEffect: false, sharedSchema }),
  ]
}

/** `order`: in which the bodies of a step are let go. */
async function together(source: Store, steps: readonly (readonly Planned[])[], order: readonly number[]) {
  const gates = new Map(steps.flat().map((_, number) => [number, deferred()] as const))
  const ran: number[] = []
  let number = 0
  const asked = steps.map((planned_) =>
    calls(...planned_.map(({ tool, ops }) => ({ tool, args: { number: number++, ops } }))),
  )
  const { app } = tinyApp({ tools: createTools(gates, ran), script: ({ step: at }) => asked[at] ?? 'done' })
  const skein = await createSkein({ app, backend: source })
  const thread = await skein.threads.create({ agent: 'helper' })
  const done = thread.send('go').result()
  for (const each of order) {
    for (let turns = 0; turns < each % 4; turns++) await turn()
    gates.get(each % gates.size)?.resolve()
  }
  for (const gate of gates.values()) gate.resolve()
  await done
  const results = (await thread.messages()).filter(({ role }) => role === 'tool').map(({ text: said }) => said)
  const found = await thread.files.find('**')
  const files = new Map<string, string>()
  for (const file of found)
    if ((await thread.files.stat(file)).kind === 'file') files.set(file, await thread.files.readFile(file, 'utf8'))
  await skein.close()
  return { results, files, ran }
}

describe.each([
  ['memory', times(100, 250)],
  ['local', times(20, 40)],
] as const)('%s', (kind, numRuns) => {
  it('T3, B1: any mix of calls that ends in any order gives what one after the other gives', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat(40), { maxLength: 12 }),
        async (steps, order) => {
          const folder = kind === 'local' ? await mkdtemp(join(tmpdir(), 'skein-order-')) : undefined
          try {
            const expected = oneByOne(steps)
            const { results, files, ran } = await together(
              folder === undefined ? memory() : local(folder),
              steps,
              order,
            )
            expect(results).toEqual(expected.results)
            expect(new Map([...files].sort())).toEqual(new Map([...expected.world.files].sort()))
            const tools = steps.flat()
            tools.forEach(({ tool }, number) => {
              const ranTimes = ran.filter((each) => each === number).length
              expect(ranTimes, `call ${number} of ${tool}`).toBeLessThanOrEqual(
                tool === 'ahead' || tool === 'counter' ? 2 : 1,
              )
            })
          } finally {
            if (folder !== undefined) await rm(folder, { recursive: true, force: true })
          }
        },
      ),
      { numRuns },
    )
  })
})

onEveryStore('the order of calls', (world) => {
  it('T3: calls run beside each other; a stale read runs again once, a tool that says nothing waits with its read', async () => {
    const log: string[] = []
    const gate = deferred()
    const writer = looseTool('writer', async ({ files }) => {
      log.push('writer')
      await gate.promise
      await files.writeFile('/x', 'new')
      return 'wrote'
    })
    const reader = (name: string, more: Partial<ToolDefinition>) =>
      looseTool(
        name,
        async ({ files }) => {
          log.push(name)
          const found = await files.exists('/x')
          log.push(`${name} saw ${found}`)
          return found
        },
        more,
      )
    const { app } = tinyApp({
      tools: [writer, reader('pure', { sideEffect: false }), reader('plain', {})],
      script: ({ step: at }) => (at === 0 ? calls('writer', 'pure', 'plain') : 'done'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    await until('both readers to begin', () => log.includes('plain') && log.includes('pure saw false'))
    await quiet()
    expect(log).toEqual(['writer', 'pure', 'plain', 'pure saw false'])
    gate.resolve()
    await run.text()
    expect(log.slice(4).toSorted()).toEqual(['plain saw true', 'pure', 'pure saw true'])
    expect((await run.toolCalls()).map(({ outcome }) => outcome)).toEqual([
      { ok: true, value: 'wrote' },
      { ok: true, value: true },
      { ok: true, value: true },
    ])
    const streamed: string[] = []
    for await (const { role, text: said } of run.messagesStream) if (role === 'tool') streamed.push(said)
    expect(streamed).toEqual(['wrote', 'true', 'true'])
  })

  it('T3: maxParallelTools 1 is plain sequence, and calls that wait for their turn never stand in the way of those they wait for', async () => {
    const log: string[] = []
    const tool = (name: string, more: Partial<ToolDefinition>) =>
      looseTool(
        name,
        async ({ files }) => {
          log.push(`${name} begins`)
          await files.appendFile('/log', name)
          log.push(`${name} ends`)
        },
        more,
      )
    const tools = [tool('a', {}), tool('b', { sideEffect: false }), tool('c', {}), tool('d', { needsApproval: true })]
    const { app } = tinyApp({ tools, script: ({ step: at }) => (at === 0 ? calls('d', 'a', 'b', 'c') : 'done') })
    const skein = await world.open(app, { limits: { maxParallelTools: 1 } })
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    await until('the approval', async () => (await skein.inbox.list()).length === 1)
    await quiet()
    await skein.inbox.approve('t/call_1_0')
    await run.text()
    expect(await thread.files.readFile('/log', 'utf8')).toBe('dabc')
  })
})
