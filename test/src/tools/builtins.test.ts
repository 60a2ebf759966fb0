/** Definitions of the built-in and host tools: what they say of themselves, and what it costs to name them. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { importsOf, readSources } from '../../../scripts/source.js'
import { jsonSchemaOf } from '../../../src/core/schema.js'
import { builtins } from '../../../src/tools/own/thread-files.js'
import { hostTools } from '../../../src/tools/own/host-tools.js'
import { askUserQuestion, manageTodoList } from '../../../src/tools/own/runtime.js'

const host = hostTools({ rootDir: '/srv/work' })
const said = ({ name, sideEffect, idempotent, probe }: (typeof host)[number]) => [
  name,
  sideEffect,
  idempotent,
  probe !== undefined,
]

describe('definitions', () => {
  it('T11: the built-ins may run ahead and again', () => {
    expect(builtins.map(({ name, sideEffect }) => [name, sideEffect])).toEqual(
      ['read', 'write', 'edit', 'grep', 'ls', 'glob', 'bash'].map((name) => [name, false]),
    )
  })

  it('T14: each may take a minute, whatever it is for; how long a command may take is said with it', () => {
    expect(builtins.map(({ name, timeoutMs }) => [name, timeoutMs])).toEqual(
      expect.arrayContaining(['read', 'write', 'edit', 'grep', 'ls', 'glob'].map((name) => [name, 60_000])),
    )
    expect(builtins.find(({ name }) => name === 'bash')?.timeoutMs).toBeUndefined()
  })

  it('T11: host tools say what they do to the world', () => {
    expect(host.map(said)).toEqual([
      ['read', undefined, undefined, false],
      ['write', true, true, false],
      ['edit', true, false, true],
      ['grep', undefined, undefined, false],
      ['bash', true, false, false],
    ])
  })

  it('every one can be told to a model', () => {
    for (const { name, args, description } of [...builtins, ...host, manageTodoList, askUserQuestion]) {
      expect(jsonSchemaOf(args), name).toMatchObject({ type: 'object' })
      expect(description?.length, name).toBeGreaterThan(20)
    }
  })

  it.each<readonly [string, object, RegExp]>([
    ['no root', {}, /rootDir/],
    ['an empty root', { rootDir: '' }, /rootDir/],
    ['no time', { rootDir: '/x', timeoutMs: 0 }, /timeoutMs/],
    ['no output', { rootDir: '/x', maxOutputBytes: 10 }, /maxOutputBytes/],
    ['a word we do not know', { rootDir: '/x', network: true }, /network/],
  ])('hostTools refuses %s', (_name, options, message) => {
    const make = () => hostTools({ rootDir: '', ...options })
    expect(make).toThrow(message)
    expect(make).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
  })
})

it('naming the tools loads no library but zod', () => {
  const sources = new Map(
    readSources(fileURLToPath(new URL('../../..', import.meta.url)), ['src']).map((source) => [source.path, source]),
  )
  const seen = new Set<string>()
  const packages = new Set<string>()
  const visit = (path: string): void => {
    const source = sources.get(path)
    if (!source) throw new Error(`${path} is not a source`)
    seen.add(path)
    for (const used of importsOf(source)) {
      if (used.typeOnly) continue
      if (used.target === undefined) packages.add(used.specifier)
      else if (!seen.has(used.target)) visit(used.target)
    }
  }
  for (const path of ['thread-files', 'host-tools', 'runtime'].map((name) => `src/tools/own/${name}.ts`)) visit(path)
  expect(seen).toContain('src/tools/own/body.ts')
  expect([...packages].sort()).toEqual(['node:path', 'zod'])
})
