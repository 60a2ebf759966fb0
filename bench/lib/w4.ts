/**
 * W4: a thread of 1,000 messages on disk; a new process opens it and does one step. Also, for Skein alone, a thread of
 * 20,000 that is woken by mail without a step: only its snapshot and the tail are read then.
 */
import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { bytesIn, runJob, withFolder } from './child.js'
import type { Contender } from './contenders.js'
import type { Figures } from './figures.js'
import type { Settings } from './settings.js'

const prepared = z.object({ ms: z.number(), thread: z.string().optional() })
const resumed = z.object({
  importMs: z.number(),
  loadMs: z.number(),
  sinceStartMs: z.number(),
  openMs: z.number().optional(),
  loadCpuMs: z.number().optional(),
  openCpuMs: z.number().optional(),
})
type Resumed = z.infer<typeof resumed>

export const messages = { short: 1_000, long: 20_000 }
/** A store beyond this is not copied for every round: it is resumed in place and grows by two messages each time. */
const mostCopiedBytes = 50_000_000

interface Stored {
  readonly contender: Contender
  readonly folder: string
  readonly thread: string | undefined
  readonly length: number
  readonly copied: boolean
}

export async function measureW4(contenders: readonly Contender[], settings: Settings, figures: Figures): Promise<void> {
  const able = settings.quick ? contenders.filter(({ mode }) => mode !== 'sqlite') : contenders
  await withFolder(async (folder) => {
    const short: Stored[] = []
    for (const contender of able)
      short.push(await prepare({ contender, settings, figures, folder, length: messages.short }))
    await measureSteps(short, { settings, figures, work: 'step' })
    const own = short.filter(({ contender }) => contender.kind === 'skein')
    const [skein] = own
    if (!skein) return
    const long = await prepare({ contender: skein.contender, settings, figures, folder, length: messages.long })
    await measureSteps([...own, long], { settings, figures, work: 'inject' })
    if (!settings.quick) await measureSteps([long], { settings, figures, work: 'step' })
  })
}

interface Preparing {
  readonly contender: Contender
  readonly settings: Settings
  readonly figures: Figures
  readonly folder: string
  readonly length: number
}

async function prepare({ contender, settings, figures, folder: parent, length }: Preparing): Promise<Stored> {
  console.error(`w4: ${contender.name} writes ${length} messages`)
  const folder = join(parent, `${contender.name.replaceAll(/\W+/g, '-')}-${length}`)
  await mkdir(folder)
  const { thread } = await runJob(contender, settings.dist, {
    job: { work: 'prep', folder, messages: length },
    answer: prepared,
  })
  const bytes = await bytesIn(folder)
  figures.add({ w: 'w4', contender: contender.name, kind: contender.kind, what: `${length} bytes`, unit: 'bytes' }, [
    bytes,
  ])
  return { contender, folder, thread, length, copied: bytes <= mostCopiedBytes }
}

async function measureSteps(
  stores: readonly Stored[],
  { settings, figures, work }: { settings: Settings; figures: Figures; work: 'step' | 'inject' },
): Promise<void> {
  const samples = new Map<Stored, Resumed[]>(stores.map((store) => [store, []]))
  for (let round = 0; round < settings.rounds * 2; round++) {
    for (const [store, own] of samples) {
      const { contender, folder, thread, length, copied } = store
      const used = copied ? `${folder}-copy` : folder
      if (copied) await cp(folder, used, { recursive: true })
      const job = {
        work,
        folder: used,
        messages: copied ? length : length + round * 2,
        ...(thread !== undefined && { thread }),
      }
      own.push(await runJob(contender, settings.dist, { job, answer: resumed }))
      if (copied) await rm(used, { recursive: true, force: true })
    }
  }
  for (const [{ contender, length }, own] of samples) {
    const add = (what: string, values: readonly number[]): void =>
      figures.add(
        { w: 'w4', contender: contender.name, kind: contender.kind, what: `${length} ${what}`, unit: 'ms' },
        values,
      )
    if (work === 'step')
      add(
        'import',
        own.map(({ importMs }) => importMs),
      )
    add(
      `load + ${work}`,
      own.map(({ loadMs }) => loadMs),
    )
    const onCpu = own.flatMap(({ loadCpuMs }) => loadCpuMs ?? [])
    if (onCpu.length > 0) add(`load + ${work}, CPU`, onCpu)
    const stepCpu = own.flatMap(({ loadCpuMs, openCpuMs }) =>
      loadCpuMs === undefined || openCpuMs === undefined ? [] : [loadCpuMs - openCpuMs],
    )
    if (stepCpu.length > 0) add(`load + ${work}, store open, CPU`, stepCpu)
    const opened = own.flatMap(({ loadMs, openMs }) => (openMs === undefined ? [] : [loadMs - openMs]))
    if (opened.length > 0) add(`load + ${work}, store open`, opened)
    add(
      `${work} since start`,
      own.map(({ sinceStartMs }) => sinceStartMs),
    )
  }
}
