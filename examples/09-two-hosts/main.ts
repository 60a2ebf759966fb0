/**
 * One swarm on two hosts: a NATS server, two processes that serve the same app, and a lead whose 24 surveyors land on
 * both. One host is killed with -9 in the middle. What it had begun goes on at the other one; nothing is lost or done
 * twice.
 *
 *   npx tsx examples/09-two-hosts/main.ts
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectSkein, nats } from 'skein'
import { startServer } from './server.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-two-hosts-'))
const ledger = join(folder, 'ledger.txt')
const server = await startServer(folder)
const hosts = new Map<string, ChildProcess>()
const isOn = (name: string, text: string): boolean => text.endsWith(` by ${name}`)

try {
  for (const name of ['one', 'two']) {
    const host = fork(new URL('./host.ts', import.meta.url), [name, server.url, server.monitor, ledger])
    hosts.set(name, host)
    await once(host, 'message')
    console.log(`host ${name} is process ${host.pid}`)
  }
  const client = await connectSkein({ backend: nats({ servers: server.url, namespace: 'rivers' }) })
  const thread = await client.threads.create({ agent: 'lead', id: 'swarm' })
  const run = thread.send('Survey the rivers.')
  await run.accepted()

  let [done, killed, killedAt] = [0, '', 0]
  for await (const event of client.events({ root: 'swarm' })) {
    if (event.type === 'child.reported' && event.outcome.ok) {
      const line = String(event.outcome.value)
      console.log(`${String(++done).padStart(2)} ${line}`)
      if (done === 8) {
        killed = [...hosts.keys()].find((name) => isOn(name, line)) ?? ''
        hosts.get(killed)?.kill('SIGKILL')
        killedAt = Date.now()
        console.log(`   ✗ kill -9 of host ${killed}`)
      }
    }
    if (event.type === 'turn.ended' && event.thread === 'swarm') break
  }
  console.log(
    `\n${await run.text()} The last one ${((Date.now() - killedAt) / 1000).toFixed(1)} s after host ${killed} was ` +
      `killed.`,
  )
  const booked = readFileSync(ledger, 'utf8').trim().split('\n')
  for (const name of hosts.keys())
    console.log(`host ${name} booked ${booked.filter((line) => isOn(name, line)).length}`)
  console.log(
    `${booked.length} rivers are in the ledger, ` +
      `${booked.length - new Set(booked.map((line) => line.split(' ')[0])).size} of them twice`,
  )
  await client.close()
} finally {
  for (const host of hosts.values()) host.kill('SIGKILL')
  server.stop()
  rmSync(folder, { recursive: true, force: true })
}
