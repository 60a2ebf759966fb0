/**
 * `skein dev`: a host that loads its app again when a file of it changes. Threads stay awake; what runs ends on the
 * version that it began with.
 *
 * - An app that does not load is reported with its file and line, and the version before goes on. At a terminal the
 *   error stays at the bottom until it is mended.
 * - An app that does not load at the start is waited for: nothing is served until it does. Whatever else is wrong
 *   (options, the store) ends the command.
 */
import { relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { defined } from '../../../core/defined.js'
import type { AppWatch, Skein, SkeinError } from '../../../index.js'
import type { ExitCode } from '../../exit.js'
import { counted, duration } from '../../format.js'
import { servePageOf } from '../../page-server.js'
import type { PageServer } from '../../page-server.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { createLines, eventLine, openServingHost, serveOptions, stopServing, tellServing } from '../../serving.js'
import type { TellLine, ServeFlags, ServeRequest } from '../../serving.js'

export function register(command: Command, runCommand: RunCommand): void {
  serveOptions(command).action((app: string, options: ServeFlags) =>
    runCommand(command, (context) => new Development(context, { ...options, app }).serve()),
  )
}

class Development {
  readonly #context: CommandContext
  readonly #request: ServeRequest
  readonly #line: TellLine
  #skein: Skein | undefined
  #watch: AppWatch | undefined
  /** Files that have changed since the app was last loaded. */
  readonly #changed = new Set<string>()
  #loading: Promise<void> | undefined
  #stopping = false
  #page: PageServer | undefined
  /** What happens before the first line is in it. */
  #serving = false
  readonly #warnings = new Set<string>()
  #lastRefusal: string | undefined
  #fail: (thrown: unknown) => void = () => undefined

  constructor(context: CommandContext, request: ServeRequest) {
    this.#context = context
    this.#request = request
    this.#line = createLines(context.out)
  }

  async serve(): Promise<ExitCode> {
    const { watchApp } = await import('../../../index.js')
    this.#context.onStop(() => this.#stop())
    const failed = new Promise<never>((_, reject) => {
      this.#fail = reject
    })
    this.#watch = await watchApp(this.#request.app, { onChange: (files) => this.#onChange(files) })
    this.#loading = this.#load()
    await this.#loading
    return failed
  }

  async #stop(): Promise<void> {
    this.#stopping = true
    this.#watch?.close()
    this.#context.out.show([])
    // A load that is under way ends with the host; a first one is waited for.
    if (!this.#skein) await this.#loading
    await this.#page?.close()
    await stopServing(this.#skein, this.#line)
  }

  #onChange(files: readonly string[]): void {
    for (const file of files) this.#changed.add(relative('.', file))
    this.#loading ??= this.#load()
  }

  /** Loads until nothing has changed meanwhile. */
  async #load(): Promise<void> {
    do {
      const files = [...this.#changed].sort()
      this.#changed.clear()
      await (this.#skein ? this.#reload(this.#skein, files) : this.#open(files))
    } while (this.#changed.size > 0 && !this.#stopping)
    this.#loading = undefined
  }

  async #open(files: readonly string[]): Promise<void> {
    try {
      const skein = await openServingHost(this.#context, this.#request, {
        onHostEvent: (event) => this.#serving && this.#line(eventLine(event), event),
        onWarning: (text) => this.#warn(text),
      })
      this.#skein = skein
      this.#mended()
      await tellServing(this.#context, skein, this.#line)
      this.#serving = true
      this.#line(`watching ${counted(this.#watch?.files.length ?? 0, 'file')}`, {
        type: 'watching',
        files: this.#watch?.files ?? [],
      })
      await this.#showPage(skein)
    } catch (thrown) {
      if (!(await this.#refused(files, thrown))) this.#fail(thrown)
    }
  }

  /** Someone who develops wants to see; that the page cannot be served ends nothing. */
  async #showPage(skein: Skein): Promise<void> {
    try {
      this.#page = await servePageOf(skein)
      this.#line(`the page is at ${this.#page.page}`, { type: 'page', url: this.#page.page })
    } catch (thrown) {
      this.#warn(`skein: the page cannot be served: ${String(thrown)}`)
    }
  }

  async #reload(skein: Skein, files: readonly string[]): Promise<void> {
    try {
      const { elapsedMs: ms } = await skein.reload()
      const { threadsAwake: awake } = skein.host
      this.#mended()
      const text = `${changes(files)} · reloaded in ${duration(ms)} · ${counted(awake, 'thread')} awake`
      this.#line(`${this.#mark('✓', 'green')} ${text}`, { type: 'reloaded', files, ms, awake, agents: skein.agents })
    } catch (thrown) {
      if (this.#stopping) return
      if (!(await this.#refused(files, thrown))) this.#fail(thrown)
    }
  }

  /** Tells what is wrong with the app; says whether anything is. */
  async #refused(files: readonly string[], thrown: unknown): Promise<boolean> {
    const { SkeinError, failureGroup } = await import('../../../index.js')
    const isOfApp = SkeinError.is(thrown) && (thrown.data?.['app'] !== undefined || this.#skein !== undefined)
    if (!isOfApp || (thrown.data?.['app'] === undefined && failureGroup(thrown.code) !== 'caller')) return false
    this.#tellRefused(files, thrown)
    return true
  }

  /** Once for each error: whoever saves while typing is not told again and again. */
  #tellRefused(files: readonly string[], { code, message, data, stack }: SkeinError): void {
    const { out, shell } = this.#context
    const goesOn = this.#skein ? 'the version before goes on' : 'nothing is served until it is mended'
    const error = { code, message, ...defined({ data }) }
    const text = shell.env['SKEIN_DEBUG'] === '1' && stack !== undefined ? stack : message
    const lines = text.replaceAll(`${resolve('.')}/`, '').split('\n')
    const head = `${this.#mark('✗', 'red')} ${changes(files)} · not loaded; ${goesOn}`
    if (message !== this.#lastRefusal || out.mode === 'json')
      this.#line([head, ...lines.map((line) => `  ${out.paint('red', line)}`)].join('\n'), {
        type: 'refused',
        files,
        error,
      })
    this.#lastRefusal = message
    out.show([`${this.#mark('✗', 'red')} the app has an error; ${goesOn}`])
  }

  /** What definitions are warned of is said once, not with every version. */
  #warn(text: string): void {
    if (this.#warnings.has(text)) return
    this.#warnings.add(text)
    this.#context.out.note(text)
  }

  /** What is at the bottom of a terminal goes. */
  #mended(): void {
    this.#lastRefusal = undefined
    this.#context.out.show([])
  }

  #mark(mark: string, colour: 'green' | 'red'): string {
    return this.#context.out.paint(colour, mark)
  }
}

const mostNamed = 3

function changes(files: readonly string[]): string {
  const named = files.slice(0, mostNamed).join(', ')
  const more = files.length > mostNamed ? ` and ${files.length - mostNamed} more` : ''
  return files.length === 0 ? 'the app' : `${named}${more} changed`
}
