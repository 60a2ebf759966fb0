/**
 * W9: one turn of 10,000 steps in a context of 20,000 tokens, with scripted summaries: what a step costs at the end and
 * at the beginning, how long the longest request is, what it adds to the journal, and what waking costs.
 */
import { z } from 'zod'
import { runJob, withFolder } from './child.js'
import type { Contender } from './contenders.js'
import type { Figures } from './figures.js'
import type { Goal } from './goals.js'
import type { Settings } from './settings.js'

const answer = z.object({
  sectionUs: z.array(z.number()).length(10),
  sectionCpuUs: z.array(z.number()).length(10),
  requestTokens: z.number(),
  summaries: z.number(),
  bytes: z.number(),
  wakeMs: z.array(z.number()),
  wakeCpuMs: z.array(z.number()),
})

const contextTokens = 20_000
/** The trigger, and one step: a call and its result. */
const mostTokens = 0.75 * contextTokens + 120

export async function measureW9(contenders: readonly Contender[], settings: Settings, figures: Figures): Promise<void> {
  const steps = settings.quick ? 2_000 : 10_000
  for (const contender of contenders) {
    const { name, kind } = contender
    const add = (
      what: string,
      unit: 'µs/step' | 'tokens' | 'bytes' | 'ms' | 'summaries',
      values: readonly number[],
    ): void => figures.add({ w: 'w9', contender: name, kind, what, unit }, values)
    for (let round = 0; round < settings.rounds; round++) {
      console.error(`w9: ${name}, ${steps} steps`)
      const job = { work: 'w9', steps, wakes: 20 } as const
      const limited = await withFolder((folder) =>
        runJob(contender, settings.dist, { job: { ...job, folder, contextTokens }, answer }),
      )
      // The first tenth pays for the compiler: the second is what a step costs.
      for (const [what, tenth] of [
        ['first', 0],
        ['second', 1],
        ['last', 9],
      ] as const) {
        add(`${what} tenth`, 'µs/step', limited.sectionUs.slice(tenth, tenth + 1))
        add(`${what} tenth, CPU`, 'µs/step', limited.sectionCpuUs.slice(tenth, tenth + 1))
      }
      add('longest request', 'tokens', [limited.requestTokens])
      add('summaries', 'summaries', [limited.summaries])
      if (limited.wakeMs.length > 0) {
        add('wake + step', 'ms', limited.wakeMs)
        add('wake + step, CPU', 'ms', limited.wakeCpuMs)
      }
      if (round > 0) continue
      const whole = await withFolder((folder) => runJob(contender, settings.dist, { job: { ...job, folder }, answer }))
      add('journal', 'bytes', [limited.bytes])
      add('journal without', 'bytes', [whole.bytes])
    }
  }
}

export function w9Goals(figures: Figures): Goal[] {
  if (!figures.all.some(({ w }) => w === 'w9')) return []
  return ['skein memory', 'skein local'].flatMap((contender): Goal[] => {
    const of = (what: string) => figures.find('w9', contender, what)
    const ratio = (a?: number, b?: number): number | undefined => (a !== undefined && b ? a / b : undefined)
    return [
      {
        text: `W9: ${contender}, µs per step of the last tenth ÷ the second, CPU`,
        limit: 1.2,
        got: ratio(of('last tenth, CPU')?.best, of('second tenth, CPU')?.best),
        unit: '×',
      },
      {
        text: `W9: ${contender}, longest request ÷ the trigger and one batch`,
        limit: 1,
        got: ratio(of('longest request')?.worst, mostTokens),
        unit: '×',
      },
      {
        text: `W9: ${contender}, bytes of the journal ÷ without`,
        limit: 1.1,
        got: ratio(of('journal')?.best, of('journal without')?.best),
        unit: '×',
      },
      ...(contender === 'skein local'
        ? [{ text: 'W9: wake + step, median', limit: 10, got: of('wake + step')?.median, unit: 'ms' as const }]
        : []),
    ]
  })
}
