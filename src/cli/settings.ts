/**
 * Options that several commands share: `--limit maxSteps=20`, `--budget costUsd=0.5`, `--file /brief.md=./brief.md`,
 * `--attach plan.pdf`, `--env NAME=value`, `--workers 4`. Reads their form only; which limits and budgets exist and
 * what they may be is checked by Skein itself.
 */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { defined } from '../core/defined.js'
import type { Attachment, Budget, Limits, SkeinOptions } from '../index.js'
import type { CliProcess } from './process.js'

export const limitHelp =
  'a limit of each turn or thread, as maxSteps=20, maxCostUsd=0.5 or maxParallelTools=4; may be given several times'
export const workersHelp = 'threads that run tools (default: the number of cores)'
export const workerEnvHelp =
  'a variable of the environment that the app reads from process.env, for workers too; inherit: all of them; may ' +
  'be given several times'
export const envHelp =
  'a variable that tools declare; a name alone takes the value of the environment; may be given several times'
export const budgetHelp =
  'what a new thread and all below it may spend, as tokens=100000 or costUsd=2; may be given several times'
export const fileHelp = 'a file that a new thread begins with, as /brief.md=./brief.md; may be given several times'
export const attachHelp = 'a file that goes with the message; may be given several times'

/** Collects an option that may be given several times. */
export function several(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

async function badOption(text: string): Promise<never> {
  const { SkeinError } = await import('../index.js')
  throw new SkeinError('BAD_OPTION', text)
}

/** `name=number`, by name. An unknown name is refused where it is used, with the list of known ones. */
async function amountsOf(flag: string, values: readonly string[]): Promise<Readonly<Record<string, number>>> {
  const example = flag === '--limit' ? 'maxSteps=20' : 'tokens=100000'
  const entries = values.map(async (value) => {
    const [, name = '', digits = ''] = /^(\w+)=(.+)$/.exec(value) ?? []
    const amount = Number(digits)
    return digits === '' || !Number.isFinite(amount)
      ? badOption(`${flag} ${value}: give a name and a number, as ${flag} ${example}`)
      : ([name, amount] as const)
  })
  return Object.fromEntries(await Promise.all(entries))
}

export async function limitsOf(values: readonly string[] = []): Promise<Limits | undefined> {
  return values.length > 0 ? amountsOf('--limit', values) : undefined
}

/** `createSkein: … limits.maxStep` in the words of who typed `--limit maxStep=5`. */
export async function refusedLimit(thrown: unknown): Promise<never> {
  const { SkeinError } = await import('../index.js')
  const [, says] = (SkeinError.is(thrown) && /^createSkein: (.*\blimits\..*)$/s.exec(thrown.message)) || []
  if (says === undefined) throw thrown
  throw new SkeinError('BAD_OPTION', `--limit: ${says.replaceAll('limits.', '')}`, { cause: thrown })
}

export async function budgetOf(values: readonly string[] = []): Promise<Budget | undefined> {
  return values.length > 0 ? amountsOf('--budget', values) : undefined
}

/** Variables for tools: `NAME=value`, or `NAME` alone for the value that this process has. */
export async function variablesOf(
  { env }: CliProcess,
  values: readonly string[],
  flag = '',
): Promise<Readonly<Record<string, string>>> {
  const variables = new Map<string, string>()
  for (const entry of values) {
    const [, name = '', typed] = /^([^=]*)(?:=(.*))?$/s.exec(entry) ?? []
    if (name.trim() === '')
      return badOption(
        `${flag === '' ? 'a value' : flag.trim()} names no variable; give NAME=value, or NAME to take it from the ` +
          `environment`,
      )
    const value = typed ?? env[name]
    if (value === undefined)
      return badOption(`${flag}${name}: the environment has no ${name}; set it, or give ${flag}${name}=value`)
    variables.set(name, value)
  }
  return Object.fromEntries(variables)
}

export interface WorkerFlags {
  readonly workers?: string
  readonly workerEnv?: readonly string[]
}

type Workers = NonNullable<SkeinOptions['workers']>

export async function workersOf(shell: CliProcess, { workers, workerEnv }: WorkerFlags): Promise<Workers | undefined> {
  if (workers === undefined && workerEnv === undefined) return undefined
  return defined({
    threads: workers === undefined ? undefined : await threadCount(workers),
    env: workerEnv && (await workerEnvOf(shell, workerEnv)),
  })
}

async function threadCount(value: string): Promise<number> {
  const count = Number(value)
  return Number.isInteger(count) && count > 0
    ? count
    : badOption(`--workers ${value}: give a whole number of threads, from 1 up`)
}

async function workerEnvOf({ env }: CliProcess, names: readonly string[]): Promise<NonNullable<Workers['env']>> {
  if (names.includes('inherit')) return 'inherit'
  for (const name of names) {
    if (name.includes('='))
      return badOption(
        `--worker-env ${name}: give a name alone, of a variable of the environment; what tools declare is given ` +
          `by --env ${name}`,
      )
    if (env[name] === undefined)
      return badOption(`--worker-env ${name}: the environment has no ${name}; set it, or leave the option out`)
  }
  return names
}

async function read(flag: string, file: string): Promise<Uint8Array> {
  return readFile(file).catch((thrown: Error) => badOption(`${flag} ${file} cannot be read: ${thrown.message}`))
}

export async function filesOf(values: readonly string[] = []): Promise<Readonly<Record<string, Uint8Array>>> {
  const entries = values.map(async (value) => {
    const [, path = '', file = ''] = /^(\/[^=]*)=(.+)$/.exec(value) ?? []
    return path === ''
      ? badOption(`--file ${value}: give the path in the thread and the file, as --file /brief.md=./brief.md`)
      : ([path, await read('--file', file)] as const)
  })
  return Object.fromEntries(await Promise.all(entries))
}

export async function readAttachments(files: readonly string[] = []): Promise<readonly Attachment[]> {
  return Promise.all(files.map(async (file) => ({ name: basename(file), content: await read('--attach', file) })))
}
