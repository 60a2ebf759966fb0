/** A host in a process of its own, which says lines; it is killed, stopped, continued or asked to end. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface HostProcess {
  readonly pid: number
  readonly lines: readonly string[]
  /** Resolves with the first line from now on for which it holds. */
  heard(holds: (line: string) => boolean): Promise<string>
  signal(name: NodeJS.Signals): void
  readonly ended: Promise<void>
}

export async function startHost(fixture: string, args: readonly string[]): Promise<HostProcess> {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL(`../crash/fixtures/${fixture}`, import.meta.url)), ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const lines: string[] = []
  const waiting = new Set<(line: string) => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    for (const told of [...waiting]) told(line)
  })
  // A test that was cut off leaves no host behind.
  const end = (): void => void child.kill('SIGKILL')
  process.once('exit', end)
  const ended = new Promise<void>((resolve) =>
    child.on('close', () => {
      process.off('exit', end)
      resolve()
    }),
  )
  const host: HostProcess = {
    pid: child.pid ?? 0,
    lines,
    heard: (holds) =>
      new Promise((resolve, reject) => {
        const told = (line: string): void => {
          if (!holds(line)) return
          waiting.delete(told)
          resolve(line)
        }
        waiting.add(told)
        void ended.then(() => reject(new Error(`the host has ended; it said ${lines.slice(-5).join(' | ')}`)))
      }),
    signal: (name) => void child.kill(name),
    ended,
  }
  await host.heard((line) => line === 'ready')
  return host
}
