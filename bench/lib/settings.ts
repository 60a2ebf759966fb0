/** What a run of the benchmarks measures: from the command line, checked. */
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

export interface Settings {
  readonly quick: boolean
  readonly peers: boolean
  readonly only: ReadonlySet<Workload>
  /** Folder of the build, as a URL with a slash at its end. */
  readonly dist: URL
  /** Versions of Node that take part beside that of this process. */
  readonly nodes: readonly string[]
  /** How often every contender gets its turn. */
  readonly rounds: number
  /**
   * Where the table goes, and which notes follow it: `swarm` is `RESULTS-swarm.md` with `notes/swarm.md`. Absent: a
   * trial.
   */
  readonly kept?: string
  readonly command: string
}

export const workloads = [
  'w1',
  'w2',
  'w2b',
  'w3',
  'w4',
  'w5',
  'w6',
  'w7',
  'w8',
  'w9',
  'w10',
  'w11',
  'w12',
  'w13',
] as const
export type Workload = (typeof workloads)[number]

const usage =
  `npm run bench -- [--quick] [--no-peers] [--only w1[,w2,w2b,w3,w4,w5,w6,w7,w8,w9,w10,w11,w12,w13]] [--rounds <n>] ` +
  `[--node <versions>] [--dist <folder of a build>] [--keep <name>]`

export function readSettings(args: readonly string[], root: URL): Settings {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean' },
      'no-peers': { type: 'boolean' },
      only: { type: 'string' },
      rounds: { type: 'string' },
      dist: { type: 'string' },
      keep: { type: 'string' },
      node: { type: 'string' },
    },
  })
  const quick = values.quick ?? false
  const { rounds, ...others } = values
  const isWhole = Object.keys(others).length === 0
  const only = values.only?.split(',') ?? workloads
  const unknown = only.find((name) => !isWorkload(name))
  if (unknown !== undefined)
    throw new RangeError(`there is no workload ${unknown}; there are ${workloads.join(', ')}\n${usage}`)
  return {
    quick,
    peers: !values['no-peers'],
    only: new Set(only.filter(isWorkload)),
    dist: values.dist === undefined ? new URL('dist/', root) : pathToFileURL(`${values.dist}/`),
    nodes: versions(values.node ?? (isWhole ? defaultNode : '')),
    rounds: count(rounds ?? (quick ? '2' : '5')),
    ...keptAs(values.keep, isWhole),
    command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
  }
}

/** A whole run, of however many rounds, is the one whose table is kept; another is under the name that it is given. */
function keptAs(name: string | undefined, isWhole: boolean): { readonly kept?: string } {
  if (name === undefined) return isWhole ? { kept: '' } : {}
  if (!/^[a-z]+$/.test(name)) throw new RangeError(`--keep is a word of small letters\n${usage}`)
  return { kept: name }
}

/** The newest that is supported: a whole run has it. */
const defaultNode = '24'

function versions(given: string): readonly string[] {
  const named = given.split(',').filter(Boolean)
  const wrong = named.find((each) => !/^\d+(?:\.\d+){0,2}$/.test(each))
  if (wrong !== undefined) throw new RangeError(`--node is a version as 24, or several with commas\n${usage}`)
  return named.filter((each) => !process.version.startsWith(`v${each}.`))
}

function count(given: string): number {
  const value = Number(given)
  if (Number.isInteger(value) && value >= 1 && value <= 100) return value
  throw new RangeError(`--rounds is a number from 1 to 100\n${usage}`)
}

function isWorkload(name: string): name is Workload {
  return workloads.some((known) => known === name)
}
