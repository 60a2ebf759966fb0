/** `skein doctor`: checks whether Skein can run here, and says what to do where it cannot. */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { Finding } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { joinWords, oneLine } from '../format.js'
import type { Colour } from '../output.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { several, workerEnvHelp, workersOf } from '../settings.js'
import type { WorkerFlags } from '../settings.js'
import { withAnyClient } from '../store.js'
import type { StoreLocation } from '../store.js'

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('[app]', 'module or folder of the definitions, to be checked as well')
    .option('--worker-env <name>', workerEnvHelp, several)
    .action((app: string | undefined, flags: WorkerFlags) =>
      runCommand(command, (context) => examine(context, app, flags)),
    )
}

const colours: Readonly<Record<Finding['level'], Colour>> = { ok: 'green', warn: 'yellow', fail: 'red' }

async function examine(
  { out, shell, store }: CommandContext,
  app: string | undefined,
  flags: WorkerFlags,
): Promise<ExitCode> {
  const findings = store.server ? await examineServer(store, app) : await examineStore({ shell, store }, app, flags)
  for (const each of findings) {
    const { check, level, says, advice } = each
    if (out.mode === 'json') out.json(each)
    else
      out.print(
        `${out.paint(colours[level], level.padEnd(4))}  ${check.padEnd(9)}  ` +
          `${lines(advice === undefined ? says : `${says} → ${advice}`)}\n`,
      )
  }
  return findings.some(({ level }) => level === 'fail') ? exitCode.failed : exitCode.ok
}

async function examineStore(
  { shell, store }: Pick<CommandContext, 'shell' | 'store'>,
  app: string | undefined,
  flags: WorkerFlags,
): Promise<readonly Finding[]> {
  const workers = await workersOf(shell, flags)
  const { diagnose } = await import('../../index.js')
  return diagnose({ backend: await store.source(), ...store.key, env: shell.env, ...defined({ app, workers }) })
}

/** What can be known from here: whether it answers, whether a host is behind it, and what the key may do. */
async function examineServer(store: StoreLocation, app: string | undefined): Promise<readonly Finding[]> {
  const { SkeinError } = await import('../../index.js')
  if (app !== undefined)
    throw new SkeinError('BAD_OPTION', `the server at ${store.name} has its own app; leave out ${JSON.stringify(app)}`)
  return withAnyClient(store, async (client) => {
    const checked = async (check: string, ask: () => Promise<Omit<Finding, 'check'>>): Promise<Finding> => ({
      check,
      ...(await ask().catch((thrown: unknown) => ({
        level: 'fail' as const,
        says: thrown instanceof Error ? thrown.message : String(thrown),
      }))),
    })
    const server = await checked('server', async () =>
      (await client.hosted())
        ? { level: 'ok', says: `${store.name} answers, and a host serves its store` }
        : { level: 'warn', says: `${store.name} answers, and no host serves its store`, advice: 'start skein host' },
    )
    if (server.level === 'fail') return [server]
    const key = await checked('key', async () => {
      await client.threads.list({ limit: 1 })
      return { level: 'ok', says: 'the key may read' }
    })
    return [server, key]
  })
}

/** A line, and one below it for every item of a list. */
function lines(text: string): string {
  return joinWords(text)
    .split('\n')
    .map((line) => oneLine(line, 2_000))
    .join(`\n${' '.repeat(17)}`)
}
