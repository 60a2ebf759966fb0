/** A server with a great tree in a process of its own, and what can be done to it. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { StormCommand } from '../web-server.js'

export interface Storm {
  readonly url: string
  readonly root: string
  blow(how: { readonly perSecond: number; readonly tellsTime?: boolean }): void
  lose(): void
  /** It does nothing more, and its connections stay. */
  freeze(): void
  thaw(): void
  kill(): void
  /** Streams of the page that are open. */
  streams(): Promise<number>
}

export async function startStorm(size: number): Promise<Storm> {
  const child = fork(fileURLToPath(new URL('../web-server.ts', import.meta.url)), [String(size)], {
    execArgv: ['--import', 'tsx'],
  })
  const answer = (): Promise<object> => new Promise((resolve) => child.once('message', resolve))
  const say = (said: StormCommand): void => void child.send(said)
  const { url = '', root = '' }: { url?: string; root?: string } = await answer()
  await (await fetch(`${url}/trees/${root}/snapshot`)).arrayBuffer()
  return {
    url,
    root,
    blow: (how) => say({ kind: 'storm', ...how }),
    lose: () => say({ kind: 'lose' }),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    kill: () => void child.kill('SIGKILL'),
    async streams() {
      const told = answer()
      say({ kind: 'streams' })
      const { streams = -1 }: { streams?: number } = await told
      return streams
    },
  }
}
