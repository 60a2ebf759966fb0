/**
 * Where the tests get a NATS server from: the PATH when it is new enough, else Debian's newer suites. The package's
 * binary runs as it is, so it is only downloaded and unpacked, into `.cache` of the project; nothing is installed.
 *
 * - A binary is fetched once and found again; two processes that fetch at once do no harm.
 * - Where it cannot be had, the error says what to install.
 */
import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Versions that the suites run on, and the suite of Debian that has each. */
const suites = { '2.10': 'trixie', '2.15': 'forky' } as const
export type NatsVersion = keyof typeof suites
export const natsVersions = Object.keys(suites) as readonly NatsVersion[]

/** What `STORES` names with `nats` (the newest, or what `NATS` says) and `nats-2.10`. */
export function natsAskedFor(stores: readonly string[]): readonly NatsVersion[] {
  const usual = process.env['NATS'] ?? natsVersions.at(-1)
  return natsVersions
    .filter((version) => stores.includes(`nats-${version}`) || (stores.includes('nats') && version === usual))
    .reverse()
}

const cache = fileURLToPath(new URL('../../.cache/nats/', import.meta.url))
const fetched = new Map<NatsVersion, Promise<string>>()

/** The path of a server of that line; fetched when it is not there. */
export function natsBinary(version: NatsVersion): Promise<string> {
  let path = fetched.get(version)
  if (!path) fetched.set(version, (path = find(version)))
  return path
}

async function find(version: NatsVersion): Promise<string> {
  const kept = join(cache, version, 'nats-server')
  if (await exists(kept)) return kept
  const onPath = await versionOf('nats-server')
  if (onPath?.startsWith(`${version}.`)) return 'nats-server'
  try {
    return await fetchFrom(suites[version], kept)
  } catch (cause) {
    throw new Error(
      `the NATS tests need nats-server ${version}: put one on the PATH or at ${kept} ` +
        `(https://github.com/nats-io/nats-server/releases). It could not be fetched from Debian ${suites[version]}.`,
      { cause },
    )
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

async function versionOf(binary: string): Promise<string | undefined> {
  try {
    return /v(\d+\.\d+\.\d+)/.exec((await run(binary, ['--version'])).stdout)?.[1]
  } catch {
    return undefined
  }
}

async function fetchFrom(suite: string, to: string): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), 'skein-nats-fetch-'))
  try {
    const at = (name: string): string => join(work, name)
    for (const folder of ['lists/partial', 'cache/archives/partial', 'parts', 'unpacked'])
      await mkdir(at(folder), { recursive: true })
    await writeFile(
      at('parts/debian.sources'),
      `Types: deb\nURIs: ${await mirror()}\nSuites: ${suite}\nComponents: main\nSigned-By: ` +
        `/usr/share/keyrings/debian-archive-keyring.gpg\n`,
    )
    const own = [
      `Dir::Etc::SourceList=/dev/null`,
      `Dir::Etc::SourceParts=${at('parts')}`,
      `Dir::State::Lists=${at('lists')}`,
      `Dir::Cache=${at('cache')}`,
    ].flatMap((option) => ['-o', option])
    await run('apt-get', [...own, '-q', 'update'], { cwd: work })
    await run('apt-get', [...own, '-q', 'download', 'nats-server'], { cwd: work })
    const [deb] = (await readdir(work)).filter((name) => name.endsWith('.deb'))
    await run('dpkg', ['-x', at(deb ?? 'nats-server.deb'), at('unpacked')])
    await mkdir(join(to, '..'), { recursive: true })
    const part = `${to}.${process.pid}`
    await run('cp', [at('unpacked/usr/sbin/nats-server'), part])
    await rename(part, to)
    return to
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** The mirror that this machine is set up for. */
async function mirror(): Promise<string> {
  const { stdout } = await run('apt-get', ['indextargets', '--format', '$(REPO_URI)'])
  return stdout.split('\n').find((uri) => /\/debian\/?$/.test(uri)) ?? 'http://deb.debian.org/debian'
}
