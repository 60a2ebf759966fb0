/** Where a name finds its value, what a child gets of its parent, and numbered instances. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  changedEnv,
  checkVariableName,
  flowingEnv,
  hasValue,
  inheritedEnv,
  instancesOf,
  isEnabled,
  isVariableName,
  missingVariables,
  noEnv,
  resolveEnv,
  threadEnv,
} from '../../../src/core/env.js'
import type { EnvLevel, SealedEnv } from '../../../src/core/env.js'

/** F2, written out once more. */
const inOrder: readonly EnvLevel[] = ['own', 'inherited', 'agent', 'prompt', 'tool', 'instance']

const names: fc.Arbitrary<string> = fc.constantFrom('A', 'B', 'C', 'D', 'E')
const envs: fc.Arbitrary<SealedEnv> = fc.dictionary(names, fc.string(), { noNullPrototype: true })

describe('lookup', () => {
  it('the first level that has the name gives the value, whichever others have it', () => {
    fc.assert(
      fc.property(fc.subarray([...inOrder]), (given) => {
        const levels = Object.fromEntries(given.map((level) => [level, { A: level }]))
        const first = inOrder.find((level) => given.includes(level))
        expect(resolveEnv('A', levels)).toEqual(first && { from: first, value: first })
        expect(resolveEnv('B', levels)).toBeUndefined()
      }),
    )
  })

  it('an empty value is a value; a level that is undefined is none', () => {
    expect(resolveEnv('A', { own: { A: '' }, instance: { A: 'lower' } })).toEqual({ from: 'own', value: '' })
    expect(resolveEnv('A', { agent: { A: '' }, tool: { A: 'lower' } })).toEqual({ from: 'agent', value: '' })
    expect(resolveEnv('A', { own: undefined, agent: undefined, tool: { A: 'default' } })).toEqual({
      from: 'tool',
      value: 'default',
    })
  })

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('%s finds nothing that was not set', (name) => {
    const empty = Object.fromEntries(inOrder.map((level) => [level, {}]))
    expect(resolveEnv(name, empty)).toBeUndefined()
    expect(hasValue(noEnv, name)).toBe(false)
    const stored: SealedEnv = JSON.parse(`{ "${name}": "set" }`)
    expect(resolveEnv(name, { own: stored })?.value).toEqual('set')
    expect(Object.getPrototypeOf(inheritedEnv(threadEnv({ own: {}, inherited: stored }), []))).toBe(Object.prototype)
    expect(resolveEnv(name, { inherited: inheritedEnv(stored, []) })?.value).toEqual('set')
  })
})

describe('inheritance', () => {
  it('EN2: a child has what its parent would find, except what the child scopes', () => {
    fc.assert(
      fc.property(envs, envs, fc.uniqueArray(names), (own, inherited, scoped) => {
        const child = inheritedEnv(threadEnv({ own, inherited }), scoped)
        for (const name of ['A', 'B', 'C', 'D', 'E']) {
          const parents = resolveEnv(name, { own, inherited })?.value
          expect(resolveEnv(name, { inherited: child })?.value).toEqual(scoped.includes(name) ? undefined : parents)
          expect(hasValue({ own: {}, inherited: child }, name)).toBe(!scoped.includes(name) && parents !== undefined)
        }
      }),
    )
  })

  it('EN2: nothing that was given is changed', () => {
    const own = Object.freeze({ A: 'own' })
    const inherited = Object.freeze({ A: 'from above', B: 'v1.b' })
    expect(inheritedEnv(threadEnv({ own, inherited }), ['B'])).toEqual({ A: 'own' })
    expect(changedEnv({ keys: [], own, inherited }, { level: 'own', keys: ['k'], set: { A: null, C: 'c' } })).toEqual({
      keys: ['k'],
      own: { C: 'c' },
      inherited,
    })
    expect(inherited).toEqual({ A: 'from above', B: 'v1.b' })
  })

  it('EN2: a value set where the name is scoped hides no less from above, and flows to those below', () => {
    const root = threadEnv({ own: { TOKEN: 'v1.root', PLACE: 'Bonn' }, inherited: {} })
    const childInherits = inheritedEnv(root, ['TOKEN'])
    expect(childInherits).toEqual({ PLACE: 'Bonn' })
    const child = threadEnv({ own: { TOKEN: 'v1.child' }, inherited: childInherits })
    expect(inheritedEnv(child, [])).toEqual({ TOKEN: 'v1.child', PLACE: 'Bonn' })
  })

  it('EN5: whatever changes, in whatever order, a child that is told of it has what one that is made afterwards gets', () => {
    const changes = fc.array(
      fc.record({
        level: fc.constantFrom('own' as const, 'inherited' as const),
        keys: fc.constant([]),
        set: fc.dictionary(names, fc.option(fc.string()), { noNullPrototype: true }),
      }),
    )
    fc.assert(
      fc.property(changes, fc.uniqueArray(names), (given, scoped) => {
        let parent = noEnv
        let child = noEnv
        for (const change of given) {
          parent = changedEnv(parent, change)
          const told = Object.keys(change.set).filter((name) => !scoped.includes(name))
          child = changedEnv(child, { level: 'inherited', keys: [], set: flowingEnv(parent, told) })
        }
        expect(child.inherited).toEqual(inheritedEnv(threadEnv(parent), scoped))
      }),
    )
  })
})

describe('declared variables', () => {
  it('missing is what is required (by default) and found nowhere, each name once and in order', () => {
    const levels = { own: { A: 'x' }, tool: { B: 'default' } }
    const declared = [
      { name: 'Z' },
      { name: 'A' },
      { name: 'B', required: true },
      { name: 'C', required: false },
      { name: 'Y', required: true },
      { name: 'Z', required: false },
      { name: 'C' },
      { name: 'Z' },
    ]
    expect(missingVariables(declared, (name) => resolveEnv(name, levels))).toEqual(['Z', 'Y', 'C'])
    expect(missingVariables([], () => undefined)).toEqual([])
  })

  it.each(['A', '_', 'API_KEY', '_2', 'A__2', 'X9'])('%s is a name', (name) => {
    expect(isVariableName(name)).toBe(true)
    expect(checkVariableName(name)).toBe(name)
  })

  it.each(['', 'a', 'Api', '2A', 'A-B', 'A B', ' A', 'A\n', 'Ä', '__proto__', 'constructor'])('%j is none', (name) => {
    expect(isVariableName(name)).toBe(false)
    expect(() => checkVariableName(name)).toThrow(/is no name of a variable; use capital letters/)
  })

  it('a name that came with its value does not give the value away', () => {
    expect(() => checkVariableName('TOKEN=hunter2hunter2')).toThrow(/^"TOKEN=…" is no name/)
    expect(() => checkVariableName('TOKEN=hunter2hunter2')).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.not.stringContaining('hunter2') }),
    )
  })
})

describe('numbered instances', () => {
  it('EN4: one per number that any of the names has, by number', () => {
    const env = { TOKEN__10: 1, NAME: 1, TOKEN__2: 1, OTHER__7: 1, NAME__2: 1, TOKEN: 1, NAME__3: 1 }
    expect(instancesOf(env, ['NAME', 'TOKEN'])).toEqual([
      { number: 1, variables: { NAME: 'NAME', TOKEN: 'TOKEN' } },
      { number: 2, variables: { NAME: 'NAME__2', TOKEN: 'TOKEN__2' } },
      { number: 3, variables: { NAME: 'NAME__3' } },
      { number: 10, variables: { TOKEN: 'TOKEN__10' } },
    ])
    expect(instancesOf({}, ['NAME'])).toEqual([])
    expect(instancesOf(env, [])).toEqual([])
  })

  it('EN4: other endings are part of a name', () => {
    expect(
      instancesOf(
        {
          NAME__1: 1,
          NAME__0: 1,
          NAME__02: 1,
          NAME_2: 1,
          NAME__: 1,
          NAME__2X: 1,
          __2: 1,
          NAME__99999999999999999999: 1,
        },
        ['NAME', ''],
      ),
    ).toEqual([])
    expect(instancesOf({ NAME___2: 1 }, ['NAME', 'NAME_'])).toEqual([{ number: 2, variables: { NAME_: 'NAME___2' } }])
  })

  it('EN4: a name that is asked for is no second instance of another', () => {
    expect(instancesOf({ A: 1, A__2: 1, A__2__2: 1 }, ['A', 'A__2'])).toEqual([
      { number: 1, variables: { A: 'A', A__2: 'A__2' } },
      { number: 2, variables: { A__2: 'A__2__2' } },
    ])
  })

  it('EN4: every variable of an instance is there, under its base and number', () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 1000 }))
    fc.assert(
      fc.property(numbers, (given) => {
        const env = Object.fromEntries(given.map((number) => [number === 1 ? 'A' : `A__${number}`, number]))
        expect(instancesOf(env, ['A']).map(({ number, variables }) => [number, env[variables['A'] ?? '']])).toEqual(
          given.toSorted((a, b) => a - b).map((number) => [number, number]),
        )
      }),
    )
  })
})

it('a flag is on for true, 1 and yes, trimmed and in any case', () => {
  for (const on of ['true', '1', 'yes', ' TRUE\n', 'Yes', '\t1 ']) expect(isEnabled(on), on).toBe(true)
  for (const off of [undefined, '', 'false', '0', 'no', 'on', 'y', '11', 'true!', 'yes yes'])
    expect(isEnabled(off), off).toBe(false)
})
