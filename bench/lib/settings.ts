/** What a run of the benchmarks measures: from the command line, checked. */
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

export interface Settings {
  readonly quick: boolean
  readonly peers: boolean
  readonly only: ReadonlySet<Workload>
  /** Folder of the build, as a URL with a slash at its end. */
  readonly dist: URL
  /** How often every contender gets its turn. */
  readonly rounds: number
  /** Some option was given: not the run whose table is kept. */
  readonly trial: boolean
  readonly command: string
}

export const workloads = ['w1', 'w2', 'w2b', 'w3', 'w4', 'w6', 'w7', 'w8'] as const
export type Workload = (typeof workloads)[number]

const usage = `npm run bench -- [--quick] [--no-peers] [--only w1[,w2,w2b,w3,w4,w6,w7,w8]] [--rounds <n>] [--dist <folder of a build>]`

export function readSettings(args: readonly string[], root: URL): Settings {
  const { values } = parseArgs({
    args: [...args],
    options: { quick: { type: 'boolean' }, 'no-peers': { type: 'boolean' }, only: { type: 'string' }, rounds: { type: 'string' }, dist: { type: 'string' } },
  })
  const quick = values.quick ?? false
  const only = values.only?.split(',') ?? workloads
  const unknown = only.find((name) => !isWorkload(name))
  if (unknown !== undefined) throw new RangeError(`there is no workload ${unknown}; there are ${workloads.join(', ')}\n${usage}`)
  return {
    quick,
    peers: !values['no-peers'],
    only: new Set(only.filter(isWorkload)),
    dist: values.dist === undefined ? new URL('dist/', root) : pathToFileURL(`${values.dist}/`),
    rounds: count(values.rounds ?? (quick ? '2' : '5')),
    trial: args.length > 0,
    command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
  }
}

function count(given: string): number {
  const value = Number(given)
  if (Number.isInteger(value) && value >= 1 && value <= 100) return value
  throw new RangeError(`--rounds is a number from 1 to 100\n${usage}`)
}

function isWorkload(name: string): name is Workload {
  return workloads.some((known) => known === name)
}
