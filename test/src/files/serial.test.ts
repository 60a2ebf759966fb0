/** Bodies that ran at the same time, each on some snapshot, give what running them one after the other gives. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyChanges, emptyTree, freezeTree, stale } from '../../../src/core/tree.js'
import type { DirNode } from '../../../src/core/tree.js'
import { op, perform } from './bodies.js'
import { createStore, runOn, settle, settleOn } from './copies.js'
import type { Body } from './copies.js'

const ops = fc.array(op, { minLength: 1, maxLength: 6 })

describe('T3: the file part of it', () => {
  it('B1: any bodies on any earlier snapshots, settled in order, give what a sequence gives', async () => {
    let settled = 0
    let again = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(op, { maxLength: 8 }),
        fc.array(fc.tuple(ops, fc.nat(3)), { minLength: 2, maxLength: 4 }),
        async (first, bodies) => {
          const store = createStore()
          const start = await settleOn(emptyTree, (files) => perform(files, first), { store, at: 1 })
          const world = { store, at: 2 }
          const sequence: DirNode[] = [start.tree]
          let tree = start.tree
          for (const [index, [list, back]] of bodies.entries()) {
            const body: Body<unknown> = (files) => perform(files, list)
            const alone = await settleOn(tree, body, world)
            // The snapshot of some call before it, as it stood when that one had been settled.
            const ran = await runOn(sequence[Math.max(0, index - back)] ?? tree, body, { ...world, sparing: true })
            const parallel = await settle(tree, ran, { body, world })
            expect(parallel.value).toEqual(alone.value)
            expect(freezeTree(parallel.tree)).toEqual(freezeTree(alone.tree))
            settled++
            if (parallel.again) again++
            tree = parallel.tree
            sequence.push(tree)
          }
        },
      ),
      { numRuns: 1000 },
    )
    // Both happen often: else the property would prove little.
    expect(again).toBeGreaterThan(settled * 0.05)
    expect(again).toBeLessThan(settled * 0.9)
  })

  it('a body that waits for none of its operations gets what one gets that waits for each', async () => {
    // A stream is written when all of it has come, and `tell` needs what came before.
    const eager = fc.array(
      op.filter((one) => one.op !== 'tell' && one.op !== 'writeStream'),
      { minLength: 2, maxLength: 12 },
    )
    await fc.assert(
      fc.asyncProperty(ops, eager, async (first, second) => {
        const store = createStore()
        const start = await settleOn(emptyTree, (files) => perform(files, first), { store, at: 1 })
        const world = { store, at: 2, sparing: true as const }
        const together: Body<unknown> = async (files) =>
          (await Promise.all(second.map((one) => perform(files, [one])))).flat()
        const eagerly = await settleOn(start.tree, together, world)
        const patiently = await settleOn(start.tree, (files) => perform(files, second), world)
        expect(eagerly).toEqual(patiently)
      }),
      { numRuns: 300 },
    )
  })

  it('B1: a change-set may be applied at once or one operation after the other', async () => {
    await fc.assert(
      fc.asyncProperty(ops, ops, async (first, second) => {
        const store = createStore()
        const start = await settleOn(emptyTree, (files) => perform(files, first), { store, at: 1 })
        const { changes } = await runOn(start.tree, (files) => perform(files, second), { store, at: 2 })
        const single = changes.reduce((tree, change) => applyChanges(tree, [change], 2), start.tree)
        expect(freezeTree(single)).toEqual(freezeTree(applyChanges(start.tree, changes, 2)))
      }),
      { numRuns: 300 },
    )
  })
})

/** What was there, what an earlier call did, what the later one did at the same time. */
type Case = readonly [base: Body<unknown>, first: Body<unknown>, second: Body<unknown>]

describe('T3: no needless second run', () => {
  const world = { store: createStore(), at: 5 }

  /** Whether the second body, run on the same snapshot, must run again after the first. */
  async function runsAgain([base, first, second]: Case): Promise<boolean> {
    const { tree } = await settleOn(emptyTree, base, { ...world, at: 1 })
    const ran = await runOn(tree, second, world)
    return stale((await settleOn(tree, first, world)).tree, ran.reads)
  }
  const nothing = async (): Promise<void> => undefined

  it.each<[string, Case]>([
    [
      'different files of one new directory',
      [nothing, (files) => files.writeFile('/new/deep/a', '1'), (files) => files.writeFile('/new/deep/b', '2')],
    ],
    ['the same file, blindly', [nothing, (files) => files.writeFile('/a', '1'), (files) => files.writeFile('/a', '2')]],
    [
      'a file that was there, blindly',
      [(files) => files.writeFile('/a', '0'), (files) => files.rm('/a'), (files) => files.writeFile('/a', '2')],
    ],
    [
      'a file in a directory that was cleared',
      [
        (files) => files.writeFile('/out/a', '0'),
        (files) => files.rm('/out', { recursive: true, force: true }),
        (files) => files.writeFile('/out/b', '2'),
      ],
    ],
    [
      'one directory, made twice',
      [
        nothing,
        (files) => files.mkdir('/d/e', { recursive: true }),
        (files) => files.mkdir('/d/e', { recursive: true }),
      ],
    ],
    [
      'a directory removed blindly that grew',
      [
        (files) => files.writeFile('/d/a', '0'),
        (files) => files.writeFile('/d/b', '1'),
        (files) => files.rm('/d', { recursive: true, force: true }),
      ],
    ],
    [
      'a file read beside one that was written',
      [
        (files) => files.writeFile('/d/a', '0'),
        (files) => files.writeFile('/d/b', '1'),
        (files) => files.readFile('/d/a'),
      ],
    ],
    [
      'what the body itself wrote',
      [
        nothing,
        (files) => files.writeFile('/d/b', '1'),
        async (files) => [await files.writeFile('/d/a', 'x'), await files.readFile('/d/a'), await files.exists('/d/a')],
      ],
    ],
    [
      'what the body itself made and listed',
      [
        nothing,
        (files) => files.writeFile('/b', '1'),
        async (files) => [
          await files.mkdir('/d'),
          await files.writeFile('/d/x', '1'),
          await files.readdir('/d'),
          await files.grep('1', { path: '/d' }),
        ],
      ],
    ],
    [
      'a search elsewhere',
      [
        (files) => files.writeFile('/src/a', 'x'),
        (files) => files.writeFile('/doc/a', 'x'),
        (files) => files.find('src/**'),
      ],
    ],
  ])('%s', async (_name, bodies) => {
    expect(await runsAgain(bodies)).toBe(false)
  })

  it.each<[string, Case]>([
    [
      'content',
      [(files) => files.writeFile('/a', '0'), (files) => files.writeFile('/a', '1'), (files) => files.readFile('/a')],
    ],
    ['absence', [nothing, (files) => files.writeFile('/a', '1'), (files) => files.exists('/a')]],
    [
      'a listing',
      [(files) => files.mkdir('/d'), (files) => files.writeFile('/d/a', '1'), (files) => files.readdir('/d')],
    ],
    [
      'a directory that the body only asked to be there',
      [
        nothing,
        (files) => files.writeFile('/d/a', '1'),
        async (files) => [await files.mkdir('/d', { recursive: true }), await files.readdir('/d')],
      ],
    ],
    [
      'the end of a file',
      [
        (files) => files.writeFile('/a', '0'),
        (files) => files.appendFile('/a', '1'),
        (files) => files.appendFile('/a', '2'),
      ],
    ],
    [
      'the mode that a blind write keeps',
      [
        (files) => files.writeFile('/a', '0'),
        (files) => files.chmod('/a', 0o600),
        async (files) => [await files.writeFile('/a', '1'), await files.stat('/a')],
      ],
    ],
    [
      'a link on the way',
      [
        async (files) => [await files.mkdir('/x'), await files.mkdir('/y'), await files.symlink('/x', '/l')],
        async (files) => [await files.rm('/l'), await files.symlink('/y', '/l')],
        (files) => files.writeFile('/l/f', '1'),
      ],
    ],
    [
      'a directory that is moved',
      [
        (files) => files.writeFile('/d/a', '0'),
        (files) => files.writeFile('/d/sub/b', '1'),
        (files) => files.move('/d', '/e'),
      ],
    ],
    [
      'a directory that is copied',
      [
        (files) => files.writeFile('/d/a', '0'),
        (files) => files.chmod('/d/a', 0o600),
        (files) => files.copy('/d', '/e'),
      ],
    ],
    [
      'the first of two names in the way of a copy',
      [
        async (files) => [
          await files.mkdir('/s/a', { recursive: true }),
          await files.writeFile('/s/b', ''),
          await files.mkdir('/t/b', { recursive: true }),
        ],
        (files) => files.writeFile('/t/a', ''),
        (files) => files.copy('/s', '/t').catch((error: unknown) => error),
      ],
    ],
    ['a name that a search passed', [nothing, (files) => files.writeFile('/d/a', '1'), (files) => files.find('**/a')]],
    [
      'content that was searched',
      [(files) => files.writeFile('/a', 'x'), (files) => files.writeFile('/a', 'y'), (files) => files.grep('y')],
    ],
    ['how much is used', [nothing, (files) => files.writeFile('/a', '1'), (files) => files.usage()]],
    [
      'a file that a removal wants',
      [(files) => files.writeFile('/a', '1'), (files) => files.rm('/a'), (files) => files.rm('/a')],
    ],
    [
      'an empty directory',
      [(files) => files.mkdir('/d'), (files) => files.writeFile('/d/a', ''), (files) => files.rm('/d')],
    ],
  ])('but one for %s', async (_name, bodies) => {
    expect(await runsAgain(bodies)).toBe(true)
  })

  it('T3: a write refused by the quota runs again when something has changed', async () => {
    const small = { ...world, quotaBytes: 10 }
    const { tree } = await settleOn(emptyTree, (files) => files.writeFile('/a', '12345678'), { ...world, at: 1 })
    const body: Body<unknown> = (files) =>
      files
        .writeFile('/b', '12345')
        .catch((error: unknown) => (error instanceof Error && 'code' in error ? error.code : error))
    const ran = await runOn(tree, body, small)
    expect(ran).toMatchObject({ value: 'EDQUOT', changes: [] })
    const freed = await settleOn(tree, (files) => files.rm('/a'), small)
    expect(await settle(freed.tree, ran, { body, world: small })).toMatchObject({
      again: true,
      value: undefined,
      changes: [{ op: 'file', path: '/b' }],
    })
  })
})
