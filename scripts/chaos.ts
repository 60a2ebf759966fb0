/**
 * A swarm over several hosts on NATS while hosts are killed, stopped and asked to leave and the server is killed and
 * started again, from a seed; then a comparison with the quiet run (docs/nats.md).
 *
 *   npm run chaos -- [--seed 1] [--children 1000] [--hosts 3] [--faults 40] [--minutes 10] [--nats 2.10] [--quiet]
 */
import { parseArgs } from 'node:util'
import { runChaos } from '../test/chaos/chaos.js'
import { natsVersions } from '../test/helpers/nats-binary.js'

const text = { type: 'string' } as const
const { values } = parseArgs({
  options: {
    seed: text,
    children: text,
    hosts: text,
    faults: text,
    minutes: text,
    pace: text,
    nats: text,
    quiet: { type: 'boolean' },
  },
})
const number = (given: string | undefined, fallback: number): number => (given === undefined ? fallback : Number(given))
const seed = number(values.seed, Date.now() % 100_000)
const [children, hosts, faults, minutes, paceMs] = [
  number(values.children, 1_000),
  number(values.hosts, 3),
  number(values.faults, 40),
  number(values.minutes, 10),
  number(values.pace, 40),
]
const version = natsVersions.find((each) => each === values.nats)
const again =
  `npm run chaos -- --seed ${seed} --children ${children} --hosts ${hosts} --faults ` +
  `${faults}${version ? ` --nats ${version}` : ''}`
const began = Date.now()
const log = (line: string): void =>
  values.quiet ? undefined : console.log(`${((Date.now() - began) / 1000).toFixed(1).padStart(6)} s  ${line}`)

console.log(`seed ${seed}: ${children} children over ${hosts} hosts, ${faults} faults`)
try {
  const {
    wrong,
    threads,
    bodies,
    repeated,
    unknown,
    faults: suffered,
    tookMs,
    visits,
    warnings,
  } = await runChaos({
    seed,
    children,
    hosts,
    faults,
    leaseMs: 1_500,
    paceMs,
    withinMs: minutes * 60_000,
    log,
    ...(version && { version }),
  })
  console.log(`${threads} threads, ${bodies} bodies in ${(tookMs / 1000).toFixed(1)} s; ${JSON.stringify(suffered)}`)
  console.log(
    `${repeated} bodies were run again before their result was recorded, of ${unknown} effects nobody knows; ` +
      `${warnings.length} warnings`,
  )
  console.log(
    `a visitor sent ${visits.messages} messages; ${visits.errors} times it was told of an error, the longest wait ` +
      `for an answer took ${visits.longestMs} ms`,
  )
  if (wrong.length === 0) console.log('nothing lost, nothing doubled, all as in the quiet run')
  else {
    for (const each of wrong.slice(0, 50)) console.error(each)
    console.error(`${wrong.length} things are wrong. Again: ${again}`)
    process.exitCode = 1
  }
} catch (thrown) {
  console.error(thrown)
  console.error(`Again: ${again}`)
  process.exit(1) // whoever still waits for an answer would wait for ever
}
