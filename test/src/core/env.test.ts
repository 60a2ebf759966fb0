/** Where a name finds its value, what a child gets of its parent, and numbered instances. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkVariableName, inheritedEnv, instancesOf, isEnabled, isVariableName, missingVariables, resolveEnv, threadEnv } from '../../../src/core/env.js'
import type { Env, EnvLevel, EnvValue } from '../../../src/core/env.js'

const text = (value: string): EnvValue => ({ type: 'text', value })
const secret = (sealed: string): EnvValue => ({ type: 'secret', sealed })

/** F2, written out once more. */
const inOrder: readonly EnvLevel[] = ['thread', 'inherited', 'agent', 'prompt', 'tool', 'instance']

const levelOf = (level: EnvLevel) => (level === 'thread' || level === 'inherited' ? { A: text(level) } : { A: level })

const names: fc.Arbitrary<string> = fc.constantFrom('A', 'B', 'C', 'D', 'E')
const envs: fc.Arbitrary<Env> = fc.dictionary(names, fc.oneof(fc.string().map(text), fc.string().map(secret)), { noNullPrototype: true })

describe('lookup', () => {
  it('EN1: the first level that has the name gives the value, whichever others have it', () => {
    fc.assert(
      fc.property(fc.subarray([...inOrder]), (given) => {
        const levels = Object.fromEntries(given.map((level) => [level, levelOf(level)]))
        const first = inOrder.find((level) => given.includes(level))
        expect(resolveEnv('A', levels)).toEqual(first && { from: first, value: text(first) })
        expect(resolveEnv('B', levels)).toBeUndefined()
      }),
    )
  })

  it('EN1: an empty value is a value; a level that is undefined is none', () => {
    expect(resolveEnv('A', { thread: { A: text('') }, instance: { A: 'lower' } })).toEqual({ from: 'thread', value: text('') })
    expect(resolveEnv('A', { agent: { A: '' }, tool: { A: 'lower' } })).toEqual({ from: 'agent', value: text('') })
    expect(resolveEnv('A', { thread: undefined, agent: undefined, tool: { A: 'default' } })).toEqual({ from: 'tool', value: text('default') })
  })

  it('EN1: a sealed value comes as it is stored', () => {
    expect(resolveEnv('A', { inherited: { A: secret('v1.x') }, agent: { A: 'plain' } })).toEqual({ from: 'inherited', value: secret('v1.x') })
  })

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('EN3: %s finds nothing that was not set', (name) => {
    const empty = Object.fromEntries(inOrder.map((level) => [level, {}]))
    expect(resolveEnv(name, empty)).toBeUndefined()
    const stored: Env = JSON.parse(`{ "${name}": { "type": "text", "value": "set" } }`)
    expect(resolveEnv(name, { thread: stored })?.value).toEqual(text('set'))
    expect(Object.getPrototypeOf(inheritedEnv(threadEnv({ inherited: stored }), []))).toBe(Object.prototype)
    expect(resolveEnv(name, { inherited: inheritedEnv(stored, []) })?.value).toEqual(text('set'))
  })
})

describe('inheritance', () => {
  it('EN1, EN2: a child has what its parent would find, except what the child scopes', () => {
    fc.assert(
      fc.property(envs, envs, fc.uniqueArray(names), (thread, inherited, scoped) => {
        const child = inheritedEnv(threadEnv({ thread, inherited }), scoped)
        for (const name of ['A', 'B', 'C', 'D', 'E']) {
          const parents = resolveEnv(name, { thread, inherited })?.value
          expect(resolveEnv(name, { inherited: child })?.value).toEqual(scoped.includes(name) ? undefined : parents)
        }
      }),
    )
  })

  it('EN2: nothing that was given is changed', () => {
    const thread = Object.freeze({ A: text('own') })
    const inherited = Object.freeze({ A: text('from above'), B: secret('v1.b') })
    expect(inheritedEnv(threadEnv({ thread, inherited }), ['B'])).toEqual({ A: text('own') })
    expect(inherited).toEqual({ A: text('from above'), B: secret('v1.b') })
  })

  it('EN2: a value set where the name is scoped hides no less from above, and flows to those below', () => {
    const root = threadEnv({ thread: { TOKEN: secret('v1.root'), PLACE: text('Bonn') } })
    const childInherits = inheritedEnv(root, ['TOKEN'])
    expect(childInherits).toEqual({ PLACE: text('Bonn') })
    const child = threadEnv({ thread: { TOKEN: secret('v1.child') }, inherited: childInherits })
    expect(inheritedEnv(child, [])).toEqual({ TOKEN: secret('v1.child'), PLACE: text('Bonn') })
  })

  it('EN2: a later change flows on by the same filter, and stops where a thread has its own', () => {
    const below = (rootEnv: Env): Env => {
      const child = threadEnv({ thread: { B: text('of the child') }, inherited: inheritedEnv(rootEnv, ['C']) })
      return inheritedEnv(child, ['D'])
    }
    expect(below({ A: text('1'), B: text('1'), C: text('1'), D: text('1') })).toEqual({ A: text('1'), B: text('of the child') })
    expect(below({ A: text('2'), B: text('2'), C: text('2') })).toEqual({ A: text('2'), B: text('of the child') })
  })
})

describe('declared variables', () => {
  it('missing is what is required (by default) and found nowhere, each name once and in order', () => {
    const levels = { thread: { A: text('x') }, tool: { B: 'default' } }
    const declared = [{ name: 'Z' }, { name: 'A' }, { name: 'B', required: true }, { name: 'C', required: false }, { name: 'Y', required: true }, { name: 'Z', required: false }, { name: 'C' }, { name: 'Z' }]
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
    expect(() => checkVariableName('TOKEN=hunter2hunter2')).toThrow(expect.objectContaining({ code: 'BAD_OPTION', message: expect.not.stringContaining('hunter2') }))
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
    expect(instancesOf({ NAME__1: 1, NAME__0: 1, NAME__02: 1, NAME_2: 1, NAME__: 1, NAME__2X: 1, __2: 1, NAME__99999999999999999999: 1 }, ['NAME', ''])).toEqual([])
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
        expect(instancesOf(env, ['A']).map(({ number, variables }) => [number, env[variables['A'] ?? '']])).toEqual(given.toSorted((a, b) => a - b).map((number) => [number, number]))
      }),
    )
  })
})

it('a flag is on for true, 1 and yes, trimmed and in any case', () => {
  for (const on of ['true', '1', 'yes', ' TRUE\n', 'Yes', '\t1 ']) expect(isEnabled(on), on).toBe(true)
  for (const off of [undefined, '', 'false', '0', 'no', 'on', 'y', '11', 'true!', 'yes yes']) expect(isEnabled(off), off).toBe(false)
})
