/**
 * `ls` of the virtual shell. It replaces the shell's own, which follows links and shows no modes.
 *
 * - It shows kind, mode, size, time (UTC) and the target of links.
 * - Without options it reads only names, not their nodes.
 */
import { posix } from 'node:path'
import { defineCommand } from 'just-bash'
import type { FsStat, IFileSystem } from 'just-bash'
import { systemClock } from '../../src/core/clock.js'
import { errorCode } from './path.js'

const letters = {
  all: 'a',
  'almost-all': 'A',
  directory: 'd',
  classify: 'F',
  'human-readable': 'h',
  reverse: 'r',
  recursive: 'R',
} as const

/** The letters of the options. Some have no effect here: output is always one name a line. */
type Options = ReadonlySet<string>
const knownLetters = 'aAldFhrRSt1pn'

interface Entry {
  readonly name: string
  readonly path: string
  /** Absent if only the name is needed. */
  readonly stat?: FsStat
  readonly target?: string
}

interface Listing {
  readonly fs: IFileSystem
  readonly options: Options
  readonly errors: string[]
}

export const shellLs = defineCommand('ls', async (args, { fs, cwd }) => {
  const { options, names, wrong } = parse(args)
  if (wrong !== undefined) return { stdout: '', stderr: `ls: ${wrong}\n`, exitCode: 2 }
  const listing: Listing = { fs, options, errors: [] }
  const files: Entry[] = []
  const dirs: Entry[] = []
  for (const name of names) {
    const entry = await named(listing, name, posix.resolve(cwd, name))
    if (entry) ((await isListed(listing, entry)) ? dirs : files).push(entry)
  }
  const parts = files.length > 0 ? [lines(listing, sorted(listing, files))] : []
  for (const dir of sorted(listing, dirs))
    parts.push(...(await directory(listing, dir, names.length > 1 || options.has('R'))))
  return { stdout: parts.join('\n'), stderr: listing.errors.join(''), exitCode: listing.errors.length > 0 ? 2 : 0 }
})

function parse(args: readonly string[]): {
  readonly options: Options
  readonly names: readonly string[]
  readonly wrong?: string
} {
  const options = new Set<string>()
  const names: string[] = []
  const end = args.indexOf('--')
  for (const [index, arg] of args.entries()) {
    if (index === end) continue
    if (!/^-./.test(arg) || (end !== -1 && index > end)) names.push(arg)
    else if (arg.startsWith('--')) {
      const long = Object.entries(letters).find(([word]) => word === arg.slice(2))
      if (long) options.add(long[1])
      else if (!/^--color(=|$)/.test(arg)) return { options, names, wrong: `unrecognized option '${arg}'` }
    } else {
      for (const letter of arg.slice(1)) {
        if (!knownLetters.includes(letter)) return { options, names, wrong: `invalid option -- '${letter}'` }
        options.add(letter === 'n' ? 'l' : letter)
      }
    }
  }
  return { options, names: names.length > 0 ? names : ['.'] }
}

const reasons: Readonly<Record<string, string>> = {
  ENOTDIR: 'Not a directory',
  ELOOP: 'Too many levels of symbolic links',
}

/** Undefined, with an error, if there is nothing at the path. */
async function named({ fs, options, errors }: Listing, name: string, path: string): Promise<Entry | undefined> {
  try {
    const stat = await fs.lstat(path)
    return { name, path, stat, ...(options.has('l') && stat.isSymbolicLink && { target: await fs.readlink(path) }) }
  } catch (thrown) {
    errors.push(`ls: cannot access '${name}': ${reasons[errorCode(thrown) ?? ''] ?? 'No such file or directory'}\n`)
    return undefined
  }
}

/** Whether its entries are listed: a directory, or a link to one unless the options ask about the link. */
async function isListed({ fs, options }: Listing, { path, stat }: Entry): Promise<boolean> {
  if (options.has('d')) return false
  if (!stat?.isSymbolicLink || options.has('l') || options.has('F')) return stat?.isDirectory === true
  return (await fs.exists(path)) && (await fs.stat(path)).isDirectory
}

/** The listing of a directory, followed with `-R` by those of the directories in it. */
async function directory(listing: Listing, dir: Entry, isTitled: boolean): Promise<readonly string[]> {
  const { fs, options } = listing
  const names = (await fs.readdir(dir.path)).filter(
    (name) => options.has('a') || options.has('A') || !name.startsWith('.'),
  )
  const looks = [...'lFpRSt'].some((letter) => options.has(letter))
  const all = looks
    ? await Promise.all(names.map((name) => named(listing, name, posix.join(dir.path, name))))
    : names.map((name) => ({ name, path: posix.join(dir.path, name) }))
  const entries = sorted(
    listing,
    all.filter((entry) => entry !== undefined),
  )
  const dots = options.has('a')
    ? await Promise.all(
        ['.', '..'].map((name) => (looks ? named(listing, name, posix.join(dir.path, name)) : { name, path: name })),
      )
    : []
  const shown = [...dots.filter((entry) => entry !== undefined), ...entries]
  const total = options.has('l')
    ? `total ${Math.ceil(entries.reduce((sum, { stat }) => sum + (stat?.isFile ? stat.size : 0), 0) / 1024)}\n`
    : ''
  const parts = [`${isTitled ? `${dir.name}:\n` : ''}${total}${lines(listing, shown)}`]
  if (!options.has('R')) return parts
  for (const entry of entries)
    if (entry.stat?.isDirectory)
      parts.push(
        ...(await directory(listing, { ...entry, name: `${dir.name.replace(/\/$/, '')}/${entry.name}` }, true)),
      )
  return parts
}

function sorted({ options }: Listing, entries: readonly Entry[]): readonly Entry[] {
  const weight = ({ stat }: Entry): number => {
    if (options.has('S')) return stat?.size ?? 0
    return options.has('t') ? (stat?.mtime.getTime() ?? 0) : 0
  }
  const order = [...entries].sort((a, b) => weight(b) - weight(a) || (a.name < b.name ? -1 : 1))
  return options.has('r') ? order.reverse() : order
}

function lines({ options }: Listing, entries: readonly Entry[]): string {
  if (!options.has('l')) return entries.map((entry) => `${entry.name}${mark(options, entry)}\n`).join('')
  const sizes = entries.map(({ stat }) => (options.has('h') ? inUnits(stat?.size ?? 0) : String(stat?.size ?? 0)))
  const width = sizes.reduce((most, { length }) => Math.max(most, length), 0)
  const now = systemClock.now()
  return entries
    .map((entry, index) => {
      const { name, stat, target } = entry
      const size = (sizes[index] ?? '').padStart(width)
      return stat
        ? `${modeWord(stat)} 1 user user ${size} ${timeWord(stat.mtime, now)} ` +
            `${name}${target === undefined ? mark(options, entry) : ` -> ${target}`}\n`
        : ''
    })
    .join('')
}

function mark(options: Options, { stat }: Entry): string {
  if (stat?.isDirectory) return options.has('F') || options.has('p') ? '/' : ''
  if (!stat || !options.has('F')) return ''
  if (stat.isSymbolicLink) return '@'
  return stat.mode & 0o111 ? '*' : ''
}

function modeWord({ isDirectory, isSymbolicLink, mode }: FsStat): string {
  const bits = [...'rwxrwxrwx'].map((letter, index) => (mode & (0o400 >> index) ? letter : '-'))
  const other = isSymbolicLink ? 'l' : '-'
  return `${isDirectory ? 'd' : other}${bits.join('')}`
}

const halfYearMs = 182 * 24 * 3600 * 1000

function timeWord(at: Date, now: number): string {
  const month = at.toUTCString().slice(8, 11)
  const day = String(at.getUTCDate()).padStart(2)
  const isNear = Math.abs(now - at.getTime()) < halfYearMs
  return `${month} ${day} ${isNear ? at.toISOString().slice(11, 16) : String(at.getUTCFullYear()).padStart(5)}`
}

function inUnits(bytes: number): string {
  const power = Math.min(4, Math.floor(Math.log2(Math.max(bytes, 1)) / 10))
  const value = bytes / 1024 ** power
  return power === 0
    ? String(bytes)
    : `${value < 10 ? (Math.ceil(value * 10) / 10).toFixed(1) : Math.ceil(value)}${'KMGT'[power - 1]}`
}
