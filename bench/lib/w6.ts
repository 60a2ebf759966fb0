/**
 * W6 on one host: what an attachment adds to the making of a child, and to one that also gives it back. A child with it
 * and one without take turns.
 */
import { z } from 'zod'
import { runJob, withFolder } from './child.js'
import type { Contender } from './contenders.js'
import type { Figures } from './figures.js'
import type { Settings } from './settings.js'

const kinds = ['without', 'with', 'nothing back', 'there and back'] as const
type Kind = (typeof kinds)[number]
const measured = z.object({ ms: z.record(z.enum(kinds), z.array(z.number())) })

export const attachments = { '1 KB': 2 ** 10, '1 MB': 2 ** 20, '64 MB': 2 ** 26 }
const turns = { full: 100, quick: 20 }
const warm = 50
const mostRounds = 3

export async function measureW6(all: readonly Contender[], settings: Settings, figures: Figures): Promise<void> {
  const { dist, quick, rounds } = settings
  const contenders = all.filter(({ mode }) => mode !== 'nats')
  for (const [name, bytes] of Object.entries(attachments)) {
    const samples = new Map(contenders.map((contender) => [contender, noSamples()]))
    for (let round = 1; round <= Math.min(rounds, mostRounds); round++) {
      for (const [contender, own] of samples) {
        console.error(`w6 ${name} round ${round}: ${contender.name}`)
        const job = { work: 'w6' as const, bytes, warm, turns: quick ? turns.quick : turns.full }
        const { ms } = await withFolder((folder) =>
          runJob(contender, dist, { job: { ...job, folder }, answer: measured }),
        )
        for (const kind of kinds) own[kind].push(...ms[kind])
      }
    }
    for (const [{ name: contender, kind }, own] of samples) {
      const add = (what: string, values: readonly number[]): void =>
        figures.add({ w: 'w6', contender, kind, what: `${name} ${what}`, unit: 'ms' }, values)
      for (const each of kinds) add(each, own[each])
      add('added', differences(own.with, own.without))
      add('added by both ways', differences(own['there and back'], own['nothing back']))
    }
  }
}

function noSamples(): Record<Kind, number[]> {
  return { without: [], with: [], 'nothing back': [], 'there and back': [] }
}

/** Of neighbours: what else the machine did meanwhile, it did to both. */
function differences(ones: readonly number[], others: readonly number[]): number[] {
  return ones.map((one, index) => one - (others[index] ?? Number.NaN))
}
