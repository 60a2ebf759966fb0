/**
 * W8: start-up. Import, `createSkein` on an empty folder, first token, and `skein --help`; a bare Node for comparison.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { runJob, wallMs, withFolder } from './child.js'
import type { Contender } from './contenders.js'
import type { Figures } from './figures.js'
import type { Settings } from './settings.js'

const imported = z.object({ importMs: z.number() })
const started = imported.extend({ createMs: z.number(), firstTokenMs: z.number(), sinceStartMs: z.number() })

const times = { full: 10, quick: 5 }

export async function measureW8(contenders: readonly Contender[], settings: Settings, figures: Figures): Promise<void> {
  for (const contender of contenders) await measureOne(contender, settings, figures)
}

async function measureOne(skein: Contender, { dist, quick }: Settings, figures: Figures): Promise<void> {
  const binary = skein.node?.binary
  const cli = fileURLToPath(new URL('src/cli/main.js', dist))
  const samples = {
    import: [] as number[],
    createSkein: [] as number[],
    'first token': [] as number[],
    'first token since start': [] as number[],
    '--help': [] as number[],
    'node alone': [] as number[],
  }
  for (let round = 0; round < (quick ? times.quick : times.full); round++) {
    samples.import.push((await runJob(skein, dist, { job: { work: 'import' }, answer: imported })).importMs)
    const { createMs, firstTokenMs, sinceStartMs } = await withFolder((folder) =>
      runJob(skein, dist, { job: { work: 'start', folder }, answer: started }),
    )
    samples.createSkein.push(createMs)
    samples['first token'].push(firstTokenMs)
    samples['first token since start'].push(sinceStartMs)
    samples['node alone'].push(await wallMs(['-e', '0'], binary))
    if (existsSync(cli)) samples['--help'].push(await wallMs([cli, '--help'], binary))
  }
  for (const [what, values] of Object.entries(samples)) {
    const contender =
      what === 'node alone'
        ? { contender: skein.node ? `node ${skein.node.version}` : 'node', kind: 'floor' as const }
        : { contender: skein.name, kind: skein.kind }
    if (values.length > 0) figures.add({ w: 'w8', ...contender, what, unit: 'ms' }, values)
  }
}
