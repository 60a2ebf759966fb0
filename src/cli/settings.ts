/**
 * Options that name an amount or a file: `--limit maxSteps=20`, `--budget costUsd=0.5`, `--file
 * /brief.md=./brief.md`, `--attach plan.pdf`. What a limit or a budget may be is known by Skein itself; here only the
 * form is read.
 */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Attachment, Budget, Limits, SkeinOptions } from '../index.js'
import type { CliProcess } from './process.js'

export const limitHelp =
  'a limit of each turn or thread, as maxSteps=20, maxCostUsd=0.5 or maxParallelTools=4; may be given several times'
export const workersHelp = 'threads that run tools (default: the number of cores)'
export const workerEnvHelp =
  'a variable of the environment that the app reads from process.env, for workers too; inherit: all of them; may ' +
  'be given several times'
export const budgetHelp =
  'what a new thread and all below it may spend, as tokens=100000 or costUsd=2; may be given several times'
export const fileHelp = 'a file that a new thread begins with, as /brief.md=./brief.md; may be given several times'
export const attachHelp = 'a file that goes with the message; may be given several times'

/** For options that may be given several times. */
export function several(given: string, before: readonly string[] = []): readonly string[] {
  return [...before, given]
}

async function badOption(text: string): Promise<never> {
  const { SkeinError } = await import('../index.js')
  throw new SkeinError('BAD_OPTION', text)
}

/** `name=number`, by name. An unknown name is refused where it is used, which lists those that there are. */
async function amountsOf(flag: string, given: readonly string[]): Promise<Readonly<Record<string, number>>> {
  const entries = given.map(async (each) => {
    const [, name = '', amount = ''] = /^(\w+)=(.+)$/.exec(each) ?? []
    const value = Number(amount)
    return amount === '' || !Number.isFinite(value)
      ? badOption(
          `${flag} ${each}: give a name and a number, as ${flag} ` +
            `${flag === '--limit' ? 'maxSteps=20' : 'tokens=100000'}`,
        )
      : ([name, value] as const)
  })
  return Object.fromEntries(await Promise.all(entries))
}

export async function limitsOf(given: readonly string[] = []): Promise<Limits | undefined> {
  return given.length > 0 ? amountsOf('--limit', given) : undefined
}

export async function budgetOf(given: readonly string[] = []): Promise<Budget | undefined> {
  return given.length > 0 ? amountsOf('--budget', given) : undefined
}

export interface WorkerFlags {
  readonly workers?: string
  readonly workerEnv?: readonly string[]
}

type Workers = NonNullable<SkeinOptions['workers']>

export async function workersOf(shell: CliProcess, { workers, workerEnv }: WorkerFlags): Promise<Workers | undefined> {
  if (workers === undefined && workerEnv === undefined) return undefined
  const threads = Number(workers)
  if (workers !== undefined && !(Number.isInteger(threads) && threads > 0))
    return badOption(`--workers ${workers}: give a whole number of threads`)
  return { ...(workers !== undefined && { threads }), ...(workerEnv && { env: await workerEnvOf(shell, workerEnv) }) }
}

async function workerEnvOf({ env }: CliProcess, given: readonly string[]): Promise<NonNullable<Workers['env']>> {
  if (given.includes('inherit')) return 'inherit'
  for (const name of given) {
    if (name.includes('='))
      return badOption(
        `--worker-env ${name}: give a name alone, of a variable of the environment; what tools declare is given ` +
          `by --env ${name}`,
      )
    if (env[name] === undefined)
      return badOption(`--worker-env ${name}: the environment has no ${name}; set it, or leave the option out`)
  }
  return given
}

async function read(flag: string, file: string): Promise<Uint8Array> {
  return readFile(file).catch((thrown: Error) => badOption(`${flag} ${file} cannot be read: ${thrown.message}`))
}

export async function fileFlags(given: readonly string[] = []): Promise<Readonly<Record<string, Uint8Array>>> {
  const entries = given.map(async (each) => {
    const [, path = '', file = ''] = /^(\/[^=]*)=(.+)$/.exec(each) ?? []
    return path === ''
      ? badOption(`--file ${each}: give the path in the thread and the file, as --file /brief.md=./brief.md`)
      : ([path, await read('--file', file)] as const)
  })
  return Object.fromEntries(await Promise.all(entries))
}

export async function attachmentFlags(given: readonly string[] = []): Promise<readonly Attachment[]> {
  return Promise.all(given.map(async (file) => ({ name: basename(file), content: await read('--attach', file) })))
}
