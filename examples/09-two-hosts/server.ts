/**
 * A NATS server for the example: the one on the PATH, else one that is fetched as the tests do; with the nats.conf of
 * the project.
 */
import { execFileSync, spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { natsBinary } from '../../test/helpers/nats-binary.js'

const conf = fileURLToPath(new URL('../../nats.conf', import.meta.url))

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** 2.10 or newer. */
function onPath(): string | undefined {
  try {
    const [, major = '', minor = ''] =
      /v(\d+)\.(\d+)/.exec(execFileSync('nats-server', ['--version'], { encoding: 'utf8' })) ?? []
    return Number(major) > 2 || Number(minor) >= 10 ? 'nats-server' : undefined
  } catch {
    return undefined
  }
}

/** Keeps its data in the folder. */
export async function startServer(folder: string) {
  const binary = onPath() ?? (await natsBinary('2.15').catch(() => undefined))
  if (binary === undefined)
    throw new Error(
      'This example needs nats-server 2.10 or newer on the PATH: https://github.com/nats-io/nats-server/releases, ' +
        'or `apt-get install nats-server` on Debian 13.',
    )
  const [port, monitor] = [await freePort(), await freePort()]
  const server = spawn(binary, ['-c', conf, '-p', String(port), '-m', String(monitor)], {
    cwd: folder,
    stdio: 'ignore',
  })
  const answers = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1')
        .on('data', () => resolve(Boolean(socket.destroy())))
        .on('error', () => resolve(false))
    })
  while (!(await answers())) await sleep(20)
  return {
    url: `nats://127.0.0.1:${port}`,
    monitor: `http://127.0.0.1:${monitor}`,
    stop: () => void server.kill('SIGKILL'),
  }
}
