/**
 * `skein bench`: what Skein itself costs on this machine, with models that answer at once. A step is a model's reply
 * with one call of a tool in this process, recorded and answered; a child is a thread of its own with one reply.
 *
 * - The store on disk is a new folder below `--store`, or below the temporary folder, and is removed at the end:
 *   threads of a store that is in use are neither read nor held up.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { z } from 'zod'
import { steadyClock } from '../../../core/clock.js'
import type { Definition, PromptDefinition, Skein, Store } from '../../../index.js'
import type { scriptedModel } from '../../../testing.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { table } from '../../format.js'
import type { CommandContext, RunCommand } from '../../run-command.js'

interface Flags {
  readonly store?: string
  readonly nats?: string
  readonly url?: string
  readonly seconds: number
}

type Script = Parameters<typeof scriptedModel>[0]

interface Figures {
  readonly stepUs: number
  readonly childrenPerSecond: number
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .option('--seconds <n>', 'how long to measure, about', secondsOf, 8)
    .action(() => runCommand(command, (context) => bench(context, command.optsWithGlobals<Flags>())))
}

function secondsOf(text: string): number {
  const seconds = Number(text)
  if (text.trim() === '' || !(seconds >= 1 && seconds <= 3_600))
    throw new InvalidArgumentError('give a number of seconds, from 1 to 3600.')
  return seconds
}

async function bench({ out, onStop }: CommandContext, { store, nats, url, seconds }: Flags): Promise<ExitCode> {
  const { createSkein, local, memory, SkeinError } = await import('../../../index.js')
  if (nats !== undefined || url !== undefined)
    throw new SkeinError('BAD_OPTION', 'bench measures a folder of this machine; leave out --nats and --url')
  const folder = await scratchIn(resolve(store ?? tmpdir()))
  let skein: Skein | undefined
  const end = async (): Promise<void> => {
    await skein?.close()
    await folder.remove()
  }
  onStop(end)
  try {
    const app = await definitions()
    const on = async (backend: Store): Promise<Skein> =>
      (skein = await createSkein({ app, backend, limits: { repetition: false } }))
    const inMemory = await on(memory())
    await turnOf(inMemory, 'child', 'done')
    const startMs = steadyClock.now()
    const ofMemory = await measured(inMemory, seconds * 500)
    await inMemory.close()
    const ofStore = await measured(await on(local(folder.path)), seconds * 500)
    const report = { node: process.version, cpus: availableParallelism(), startMs, memory: ofMemory, store: ofStore }
    if (out.mode === 'json') out.json({ ...report, folder: resolve(store ?? tmpdir()) })
    else
      out.print(
        `Node ${process.version}, ${report.cpus} CPUs\n` +
          `start-up  ${Math.round(startMs)} ms from the start of the process to the first answer\n\n` +
          `${table([['', 'µs per step', 'children per second'], row('memory', ofMemory), row('folder', ofStore)])}\n` +
          `of warm code, which nothing else disturbed; the first turns of a process take longer\n`,
      )
    return exitCode.ok
  } finally {
    await end()
  }
}

function row(name: string, { stepUs, childrenPerSecond }: Figures): readonly string[] {
  return [name, String(Math.round(stepUs)), String(Math.round(childrenPerSecond))]
}

/** A new folder below this one, which is made if there is none; `remove` leaves things as they were. */
async function scratchIn(parent: string): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const made = await mkdir(parent, { recursive: true }).catch(refuseFolder(parent))
  const path = await mkdtemp(join(parent, 'skein-bench-')).catch(refuseFolder(parent))
  return { path, remove: () => rm(made ?? path, { recursive: true, force: true }) }
}

const refuseFolder =
  (parent: string) =>
  async (thrown: unknown): Promise<never> => {
    const { SkeinError } = await import('../../../index.js')
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw new SkeinError('BAD_OPTION', `no folder can be made in ${parent}: ${why}`, { cause: thrown })
  }

const stepsOfTurn = 50
const childrenOfTurn = 32
const measuredAnswer = 'all done'

async function definitions(): Promise<readonly Definition[]> {
  const { defineAgent, defineModel, definePrompt, defineTool } = await import('../../../index.js')
  const testing = await import('../../../testing.js')
  const agent = (
    name: string,
    script: Script,
    tools: NonNullable<PromptDefinition['tools']> = [],
  ): readonly Definition[] => [
    defineModel({ name, model: testing.scriptedModel(script, { record: false }) }),
    definePrompt({ name: `${name}_prompt`, prompt: 'You are measured.', model: name, tools }),
    defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_prompt` }, exposeAsTool: name === 'child' }),
  ]
  const work = [{ tool: 'work', args: {} }]
  const children = Array.from({ length: childrenOfTurn }, () => ({ tool: 'child', args: { message: 'go' } }))
  return [
    defineTool({ name: 'work', description: 'Works.', args: z.object({}), execute: () => 'worked' }),
    ...agent('worker', ({ step }) => (step < stepsOfTurn ? { calls: work } : measuredAnswer), ['work']),
    ...agent('lead', ({ step, messages }) => (step === 0 ? { calls: children } : answerOf(messages)), [
      { name: 'child' },
    ]),
    ...agent('child', () => 'done'),
  ]
}

/** Another one than that of a child, if all children have answered: what fails early would be fast. */
function answerOf(messages: readonly { readonly role: string; readonly text: string }[]): string {
  const answers = messages.filter(({ role }) => role === 'tool')
  return answers.length === childrenOfTurn && answers.every(({ text }) => text === 'done') ? measuredAnswer : 'failed'
}

async function measured(skein: Skein, budgetMs: number): Promise<Figures> {
  const stepMs = (await undisturbedMs(skein, 'worker', budgetMs / 2)) / (stepsOfTurn + 1)
  const childMs = (await undisturbedMs(skein, 'lead', budgetMs / 2)) / childrenOfTurn
  return { stepUs: stepMs * 1_000, childrenPerSecond: 1_000 / childMs }
}

/**
 * Of the turns of new threads, one after the other, the slowest of the fastest tenth: those that nothing else on the
 * machine disturbed. The first ones, which Node has yet to compile, do not count.
 */
async function undisturbedMs(skein: Skein, agent: string, budgetMs: number): Promise<number> {
  const start = steadyClock.now()
  while (steadyClock.now() - start < budgetMs / 4) await turnOf(skein, agent)
  const times: number[] = []
  do times.push(await turnOf(skein, agent))
  while (steadyClock.now() - start < budgetMs)
  return times.sort((a, b) => a - b)[Math.floor(times.length / 10)] ?? 0
}

/** How long the turn of a new thread takes, in ms. */
async function turnOf(skein: Skein, agent: string, answer = measuredAnswer): Promise<number> {
  const thread = await skein.threads.create({ agent })
  const start = steadyClock.now()
  const { stopReason, detail, text } = await thread.send('go').result()
  const ms = steadyClock.now() - start
  if (stopReason === 'completed' && text === answer) return ms
  throw new Error(`the turn of ${agent} was not done: ${stopReason} ${detail ?? text}`)
}
