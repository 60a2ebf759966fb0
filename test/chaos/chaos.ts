/**
 * One run of chaos: the quiet run first, then the same swarm over several hosts on NATS while faults come from a
 * seed, then the verdict. Owns the order of these.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { systemClock } from '../../src/core/clock.js'
import { connectSkein } from '../../src/runtime/handles/client.js'
import type { SkeinClient } from '../../src/runtime/handles/client.js'
import { isSkeinError } from '../../src/core/failure.js'
import type { NatsVersion } from '../helpers/nats-binary.js'
import { planFaults } from './faults.js'
import type { FaultKind, Row } from './faults.js'
import { Flock, pauseFor } from './flock.js'
import { judgeLedger, ledgerBytes, readLedger } from './ledger.js'
import { judgeJournals, judgeRest, judgeTranscripts, readQuiet } from './verdict.js'
import { Visitor } from './visitors.js'

export interface ChaosOptions {
  readonly seed: number
  readonly children: number
  readonly hosts: number
  /** How many; or which. */
  readonly faults: number | readonly Row[]
  readonly leaseMs: number
  /** How long a model takes. */
  readonly paceMs: number
  /** The swarm must have come to its end by then. */
  readonly withinMs: number
  readonly version?: NatsVersion
  readonly log?: (line: string) => void
}

export interface ChaosReport {
  /** Empty: nothing lost, nothing doubled, all as in the quiet run. */
  readonly wrong: readonly string[]
  readonly threads: number
  readonly bodies: number
  /** Bodies that were begun more than once, all of them before their result was recorded. */
  readonly repeated: number
  readonly unknown: number
  readonly faults: Readonly<Record<FaultKind, number>>
  readonly tookMs: number
  readonly visits: { readonly messages: number; readonly errors: number; readonly longestMs: number }
  readonly warnings: readonly string[]
}

const run = promisify(execFile)
const quietScript = fileURLToPath(new URL('../crash/fixtures/chaos-quiet.mjs', import.meta.url))
/** Mail is removed and threads come to rest a little after the last answer. */
const restWithinMs = 30_000

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const dir = await mkdtemp(join(tmpdir(), 'skein-chaos-'))
  const log = options.log ?? ((): void => undefined)
  const quiet = { ledger: join(dir, 'quiet.ledger'), ends: join(dir, 'quiet.json') }
  const ledger = join(dir, 'ledger')
  await run(process.execPath, [quietScript, String(options.children), quiet.ledger, quiet.ends])
  const flock = await Flock.start({ ...options, ledger, log })
  try {
    const began = systemClock.now()
    const visitor = await Visitor.connect(flock.source, 'visitor')
    const visiting = visitor.visit()
    visiting.catch(() => undefined) // awaited when the work is done
    const client = await connectSkein({ backend: flock.source })
    const worked = within(options.withinMs, insist(client))
    const plan = typeof options.faults === 'number' ? planFaults(options.seed, options.faults) : options.faults
    const done = new AbortController()
    const suffering = suffer(flock, plan, { ledger, bytes: await ledgerBytes(quiet.ledger), done: done.signal })
    let text: string
    try {
      text = await Promise.race([worked, suffering.then(() => worked)])
    } finally {
      done.abort()
      await suffering // a server that is away would be missed by whoever judges
    }
    await flock.calm()
    visitor.leave()
    const visits = await visiting
    const tookMs = systemClock.now() - began
    log(`the lead says: ${text}`)
    const judged = await judge({ flock, client, quiet, ledger })
    await client.close()
    return {
      ...judged,
      wrong: [...judged.wrong, ...visits.wrong],
      faults: flock.counts,
      tookMs,
      visits,
      warnings: flock.warnings,
    }
  } catch (thrown) {
    // The server may be the one that is gone.
    for (const line of await whereItStands(flock).catch((why: unknown) => [`nobody knows where it stands: ${why}`]))
      log(line)
    throw thrown
  } finally {
    await flock.end()
    await rm(dir, { recursive: true, force: true })
  }
}

/** For whoever has to find out why it did not come to its end. */
async function whereItStands(flock: Flock): Promise<readonly string[]> {
  const backend = await flock.source.open('client')
  const [restless, mail, { heads }] = [
    await backend.heads.restless(),
    await backend.mailbox.waiting(),
    await backend.heads.list({ root: 'lead', limit: 100_000 }),
  ]
  await backend.close()
  const open = heads.filter(({ status }) => status !== 'done')
  return [
    ...flock.warnings.slice(-20),
    await flock.owners(),
    `${heads.length} threads, not done: ` +
      `${JSON.stringify(open.slice(0, 20).map(({ thread, status, agent, seq, rest }) => ({ thread, status, agent, seq, rest })))}`,
    `restless: ${restless.map(({ thread }) => `${thread} of ${backend.leases.partitionOf(thread)}`).join()}`,
    `mail: ${mail.map((thread) => `${thread} of ${backend.leases.partitionOf(thread)}`).join()}`,
  ]
}

/** Asks for the work until it is done: what fails is asked for again with the same id. */
async function insist(client: SkeinClient): Promise<string> {
  for (;;) {
    try {
      const lead = await client.threads.create({ agent: 'lead', id: 'lead' })
      return await lead.send('go', { id: 'go' }).text()
    } catch (thrown) {
      if (!isSkeinError(thrown) || !thrown.retry) throw thrown
      await pauseFor(100)
    }
  }
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = systemClock.wakeAt(systemClock.now() + ms, () =>
      reject(new Error(`the swarm has not come to its end within ${ms} ms`)),
    )
    work.then(resolve, reject).finally(cancel)
  })
}

interface Suffering {
  readonly ledger: string
  /** Of the ledger of the quiet run. */
  readonly bytes: number
  /** Aborted when the work is done: no fault begins after it, and one that is under way is waited for. */
  readonly done: AbortSignal
}

async function suffer(flock: Flock, plan: readonly Row[], { ledger, bytes, done }: Suffering): Promise<void> {
  for (const { part, faults } of plan) {
    while (!done.aborted && (await ledgerBytes(ledger)) < part * bytes) await pauseFor(20)
    for (const fault of faults) if (!done.aborted) await flock.suffer(fault)
  }
}

interface Judging {
  readonly flock: Flock
  readonly client: SkeinClient
  readonly quiet: { readonly ledger: string; readonly ends: string }
  readonly ledger: string
}

async function judge({
  flock,
  client,
  quiet,
  ledger,
}: Judging): Promise<Pick<ChaosReport, 'wrong' | 'threads' | 'bodies' | 'repeated' | 'unknown'>> {
  const ends = await readQuiet(quiet.ends)
  const backend = await flock.source.open('client')
  const rest = await judgeRest(backend, restWithinMs)
  const transcripts = await judgeTranscripts(client, 'lead', ends)
  const { wrong: damaged, answered } = await judgeJournals(backend, Object.keys(ends))
  await backend.close()
  const chaos = await readLedger(ledger)
  const doubled = judgeLedger({ quiet: await readLedger(quiet.ledger), chaos, answered, continued: flock.continued })
  return {
    wrong: [...rest, ...transcripts, ...damaged, ...doubled],
    threads: Object.keys(ends).length,
    bodies: chaos.length,
    repeated: chaos.length - new Set(chaos.map(({ key }) => key)).size,
    unknown: [...answered.values()].filter(({ unknown }) => unknown).length,
  }
}
