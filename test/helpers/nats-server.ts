/**
 * A NATS server for tests, with its own folder and port: killed, stopped, continued and started again on the same data.
 * Owns the process; what is in the server belongs to the test.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/core/clock.js'
import { natsBinary, natsVersions } from './nats-binary.js'
import type { NatsVersion } from './nats-binary.js'

export interface NatsServerOptions {
  readonly version?: NatsVersion
  /** `always`: acknowledged is on the disk, as in nats.conf. Default: the server's own, which is faster. */
  readonly sync?: 'always'
  readonly maxPayload?: number
  /** Where its folder is made. Default: where temporary files are. */
  readonly under?: string
  /** The port of another one that is not up at the same time. Default: a free one. */
  readonly port?: number
  /** `false`: it is started by `start()`. */
  readonly start?: false
  /** How much JetStream may keep, as its configuration says it: `8MB`. */
  readonly maxFile?: string
  /** A configuration file instead of one made here; its ports are ours all the same. */
  readonly conf?: string
  /** Lines for the top level of its configuration. */
  readonly more?: readonly string[]
}

export interface NatsServer {
  readonly url: string
  readonly port: number
  /** Where it answers to /varz. */
  readonly monitor: string
  /** Where its data is. */
  readonly data: string
  /** What it has written to its log. */
  log(): Promise<string>
  /** SIGKILL; resolves when it is dead. */
  kill(): Promise<void>
  /** Starts it again on the same data and port. */
  start(): Promise<void>
  /** SIGSTOP and SIGCONT. */
  pause(): void
  resume(): void
  /** Kills it and removes its data. */
  remove(): Promise<void>
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** `NATS=2.10` says which version tests run on that do not say it themselves. */
export const askedVersion = natsVersions.find((version) => version === process.env['NATS']) ?? '2.15'

export async function startNats(options: NatsServerOptions = {}): Promise<NatsServer> {
  const binary = await natsBinary(options.version ?? askedVersion)
  const dir = await mkdtemp(join(options.under ?? tmpdir(), 'skein-nats-'))
  const [port, http] = [options.port ?? (await freePort()), await freePort()]
  const data = join(dir, '.nats') // as in nats.conf, which says it relative to where the server is started
  const conf = join(dir, 'nats.conf')
  const lines = [
    'server_name: test',
    'host: 127.0.0.1',
    `port: ${port}`,
    `http: 127.0.0.1:${http}`,
    `max_payload: ${options.maxPayload ?? 1024 * 1024}`,
    ...(options.more ?? []),
  ]
  await writeFile(
    conf,
    `${lines.join('\n')}\njetstream { store_dir: ` +
      `${JSON.stringify(data)}${options.sync ? ', sync_interval: always' : ''}${options.maxFile === undefined ? '' : `, max_file: ${options.maxFile}`} }\n`,
  )
  const args =
    options.conf === undefined
      ? ['-c', conf]
      : ['-c', options.conf, '-a', '127.0.0.1', '-p', String(port), '-m', String(http)]
  const running = serverProcess(binary, args, { port, log: join(dir, 'log'), cwd: dir })
  if (options.start !== false) await running.start()
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    data,
    log: () => readFile(join(dir, 'log'), 'utf8'),
    monitor: `http://127.0.0.1:${http}`,
    ...running,
    async remove() {
      await running.kill()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** A server with whatever configuration; it is there when its port answers. */
export function serverProcess(
  binary: string,
  args: readonly string[],
  { port, log, cwd }: { readonly port: number; readonly log: string; readonly cwd: string },
): Pick<NatsServer, 'kill' | 'start' | 'pause' | 'resume'> {
  let child: ChildProcess | undefined
  let ended: Promise<void> = Promise.resolve()
  return {
    async start() {
      const born = spawn(binary, [...args, '-l', log], { stdio: 'ignore', cwd })
      child = born
      // A test that was cut off leaves no server behind.
      const end = (): void => void born.kill('SIGKILL')
      process.once('exit', end)
      born.once('close', () => process.off('exit', end))
      let dead = false
      ended = new Promise((resolve) => {
        born.on('error', () => undefined)
        born.on('close', () => {
          dead = true
          resolve()
        })
      })
      while (!(await answers(port))) {
        if (dead) throw new Error(`nats-server did not start: ${await readFile(log, 'utf8').catch(String)}`)
        await new Promise<void>((resolve) => void systemClock.wakeAt(systemClock.now() + 10, resolve))
      }
    },
    async kill() {
      child?.kill('SIGKILL')
      await ended
    },
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('data', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
    socket.on('close', () => resolve(false)) // it died before it said anything
  })
}
