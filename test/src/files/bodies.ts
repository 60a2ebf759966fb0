/** Random bodies: lists of file operations, and what each of them gave. */
import { defined } from '../../../src/core/defined.js'
import fc from 'fast-check'
import type { Files } from '../../../src/files/port.js'

const names = ['a', 'b', 'c', '__proto__']
const name = fc.constantFrom(...names)
/** Few names, so that operations meet. */
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join('/')}`)
const text = fc.constantFrom('', 'one\ntwo\n', 'two', 'x\0y', 'three')
const mode = fc.constantFrom<number | undefined>(undefined, 0o600, 0o755)
/** Relative and below, so that a real directory can follow them too. */
const target = fc.constantFrom('a', 'b', 'a/b', 'c/a', './b/../a', 'b/c')
const glob = fc.constantFrom('**', '*', '**/a', 'a/**', '{a,b}/*', 'b/c', 'a/*/c')

export const op = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: fc.constant('writeFile' as const), path, text, mode }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('appendFile' as const), path, text }) },
  fc.record({ op: fc.constant('writeStream' as const), path, text }),
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constantFrom(
        'readFile' as const,
        'stat' as const,
        'lstat' as const,
        'readdir' as const,
        'exists' as const,
      ),
      path,
    }),
  },
  fc.record({ op: fc.constantFrom('readlink' as const, 'realpath' as const), path }),
  { weight: 2, arbitrary: fc.record({ op: fc.constant('mkdir' as const), path, recursive: fc.boolean(), mode }) },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant('rm' as const), path, recursive: fc.boolean(), force: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('move' as const), path, to: path }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('copy' as const), path, to: path }) },
  fc.record({ op: fc.constant('symlink' as const), path, target }),
  fc.record({ op: fc.constant('chmod' as const), path, mode: fc.constantFrom<number>(0o600, 0o755) }),
  fc.record({ op: fc.constant('find' as const), glob, limit: fc.constantFrom(undefined, 1) }),
  fc.record({
    op: fc.constant('grep' as const),
    pattern: fc.constantFrom('o', '^t'),
    glob: fc.constantFrom(undefined, 'a', 'a/**'),
    path: fc.option(path, { nil: '/' }),
  }),
  fc.record({ op: fc.constant('usage' as const) }),
  /** What a body saw so far goes into a file: what it does depends on what it read. */
  fc.record({ op: fc.constant('tell' as const), path }),
)

export type Op = typeof op extends fc.Arbitrary<infer Value> ? Value : never

/** The operations that `node:fs` has too. */
export const plainOps = [
  'writeFile',
  'appendFile',
  'readFile',
  'stat',
  'lstat',
  'readdir',
  'exists',
  'readlink',
  'realpath',
  'mkdir',
  'rm',
  'move',
  'copy',
  'symlink',
  'chmod',
]

export type Given = { readonly value: unknown } | { readonly code: unknown; readonly message: string }

export async function attempt(run: () => Promise<unknown>): Promise<Given> {
  try {
    return { value: await run() }
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error
    return { code: error.code, message: error.message }
  }
}

/** Does them one after the other and gives what each gave. */
export async function perform(files: Files, ops: readonly Op[]): Promise<readonly Given[]> {
  const given: Given[] = []
  for (const one of ops) given.push(await attempt(() => performOne(files, one, given)))
  return given
}

async function performOne(files: Files, one: Op, before: readonly Given[]): Promise<unknown> {
  switch (one.op) {
    case 'readFile':
      return files.readFile(one.path, 'utf8')
    case 'stat':
    case 'lstat':
    case 'readdir':
    case 'exists':
    case 'readlink':
    case 'realpath':
      return files[one.op](one.path)
    case 'find':
      return files.find(one.glob, defined({ limit: one.limit }))
    case 'grep':
      return files.grep(one.pattern, { path: one.path, ...defined({ glob: one.glob }) })
    case 'usage':
      return files.usage()
    case 'tell':
      return files.writeFile(one.path, JSON.stringify(before))
    default:
      return performChange(files, one)
  }
}

type Reading = 'readFile' | 'stat' | 'lstat' | 'readdir' | 'exists' | 'readlink' | 'realpath' | 'find' | 'grep'
type Change = Exclude<Op, { readonly op: Reading | 'usage' | 'tell' }>

async function performChange(files: Files, one: Change): Promise<unknown> {
  switch (one.op) {
    case 'writeFile':
      return files.writeFile(one.path, one.text, defined({ mode: one.mode }))
    case 'writeStream':
      return files.writeStream(one.path, inTwoParts(one.text))
    case 'appendFile':
      return files.appendFile(one.path, one.text)
    case 'mkdir':
      return files.mkdir(one.path, { recursive: one.recursive, ...defined({ mode: one.mode }) })
    case 'rm':
      return files.rm(one.path, { recursive: one.recursive, force: one.force })
    case 'move':
    case 'copy':
      return files[one.op](one.path, one.to)
    case 'symlink':
      return files.symlink(one.target, one.path)
    case 'chmod':
      return files.chmod(one.path, one.mode)
  }
}

async function* inTwoParts(part: string): AsyncGenerator<string | Uint8Array> {
  yield part
  yield Buffer.from(part)
}
