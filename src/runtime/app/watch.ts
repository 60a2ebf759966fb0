/**
 * Watches the files that an app is made of: those that it imports, as the bundler finds them, agents and prompts in
 * Markdown, skills, and the folders of the convention, in which a file may come.
 *
 * - Folders are watched, not files: editors replace files, and a file that was missing may come.
 * - A change is a change of contents: a file that is saved as it was, or that the app does not import, is none.
 * - Packages are not watched: they are loaded once for each process.
 */
import { createHash } from 'node:crypto'
import { existsSync, statSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { systemClock } from '../../core/clock.js'
import type { Clock } from '../../core/clock.js'
import { bundle } from './bundle.js'
import { entryModule, folderNames, readFolder } from './folder.js'
import { appPath } from './load.js'

export interface WatchAppOptions {
  /** Called with the files whose contents have changed, that came or that went. */
  readonly onChange: (files: readonly string[]) => void
  readonly clock?: Clock
}

export interface AppWatch {
  /** Every file of the app; of one that has mistakes, those that were found. */
  readonly files: readonly string[]
  close(): void
}

/** An editor that saves several files, or one in several steps, is waited for. */
const calmMs = 50
/** What a file of an app may be called, besides those that it imports already. */
const mayBeSource = /\.(?:[cm]?[jt]sx?|json|md)$/

export async function watchApp(
  app: URL | string,
  { onChange, clock = systemClock }: WatchAppOptions,
): Promise<AppWatch> {
  const watched = new WatchedApp(appPath(app), clock, onChange)
  await watched.look()
  return watched
}

class WatchedApp implements AppWatch {
  readonly #path: string
  readonly #clock: Clock
  readonly #onChange: WatchAppOptions['onChange']
  readonly #watchers = new Map<string, FSWatcher>()
  /** Files of the app, and those that it imports and that are not there. */
  #paths: ReadonlySet<string> = new Set()
  /** Hashes of contents by path. */
  #contents: ReadonlyMap<string, string> = new Map()
  #cancel: (() => void) | undefined
  #looking: Promise<void> | undefined
  #again = false
  #closed = false

  constructor(path: string, clock: Clock, onChange: WatchAppOptions['onChange']) {
    this.#path = path
    this.#clock = clock
    this.#onChange = onChange
  }

  get files(): readonly string[] {
    return [...this.#contents.keys()]
  }

  /** Reads the files, and watches where they are; returns those that have changed. */
  async look(): Promise<readonly string[]> {
    const before = this.#contents
    // Watched before they are read: a change in between is seen.
    this.#watch()
    this.#paths = await pathsOf(this.#path, before.keys())
    this.#watch()
    const after = await contentsOf(this.#paths)
    if (this.#closed) return []
    this.#contents = after
    return [...new Set([...before.keys(), ...after.keys()])].filter((file) => before.get(file) !== after.get(file))
  }

  /** All watchers are made anew: a folder that was removed and made again is another one, under the same name. */
  #watch(): void {
    if (this.#closed) return
    const folders = new Set([...foldersOf(this.#path), ...[...this.#paths].map(dirname)].map(existing))
    const before = [...this.#watchers.values()]
    this.#watchers.clear()
    for (const folder of folders) {
      const watcher = watch(folder, (_, name) => this.#noticed(folder, name))
      watcher.on('error', () => this.#lookSoon())
      this.#watchers.set(folder, watcher)
    }
    for (const watcher of before) watcher.close()
  }

  #noticed(folder: string, name: string | null): void {
    const path = name === null ? folder : join(folder, name)
    const isKnown = this.#isAbove(path) || foldersOf(this.#path).includes(path)
    // In a skill any file counts.
    if (isKnown || mayBeSource.test(path) || path.startsWith(join(this.#path, 'skills', sep))) this.#lookSoon()
  }

  /** Whether it is a file of the app, or a folder that has one or should have. */
  #isAbove(path: string): boolean {
    if (this.#paths.has(path)) return true
    for (const file of this.#paths) if (file.startsWith(`${path}${sep}`)) return true
    return false
  }

  #lookSoon(): void {
    if (this.#closed) return
    this.#cancel?.()
    this.#cancel = this.#clock.wakeAt(this.#clock.now() + calmMs, () => void this.#lookNow())
  }

  /** One look at a time, and another one if something was noticed meanwhile. */
  async #lookNow(): Promise<void> {
    if (this.#looking) return void (this.#again = true)
    this.#looking = this.look().then((changed) => {
      if (changed.length > 0 && !this.#closed) this.#onChange(changed)
    })
    await this.#looking
    this.#looking = undefined
    if (this.#again) this.#lookSoon()
    this.#again = false
  }

  close(): void {
    this.#closed = true
    this.#cancel?.()
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }
}

/** The files of an app, also those that it lacks; `before`: what it had, which counts while it has mistakes. */
async function pathsOf(path: string, before: Iterable<string>): Promise<ReadonlySet<string>> {
  const files = new Set<string>()
  const onFile = (file: string): void => void files.add(file)
  try {
    if (!isFolder(path)) {
      onFile(path)
      await bundle({ path, onFile })
      return files
    }
    const folder = await readFolder(path)
    for (const file of [...folder.files, ...folder.documents]) onFile(join(path, file.path))
    for (const skills of folder.skills) for (const file of await filesBelow(skills.folder)) onFile(file)
    await bundle({ path, text: entryModule(folder), onFile })
    return files
  } catch {
    // Whoever loads the app is told what is wrong with it.
    for (const file of before) onFile(file)
    return files
  }
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}

/** A file that cannot be read is none. */
async function contentsOf(files: Iterable<string>): Promise<ReadonlyMap<string, string>> {
  const contents = new Map<string, string>()
  for (const file of [...files].sort()) {
    const bytes = await readFile(file).catch(() => undefined)
    if (bytes) contents.set(file, createHash('sha256').update(bytes).digest('hex'))
  }
  return contents
}

/** The folders in which a file of the app may come. */
function foldersOf(path: string): readonly string[] {
  return isFolder(path) ? [path, ...[...folderNames, 'skills'].map((name) => join(path, name))] : [dirname(path)]
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** The folder, or the nearest one above it that is there. */
function existing(folder: string): string {
  return existsSync(folder) || folder === dirname(folder) ? folder : existing(dirname(folder))
}
