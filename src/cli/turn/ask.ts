/**
 * Asking in place: at a terminal, a turn that waits for a person asks whoever watches it, instead of naming commands
 * to type. It reads whole lines, so that Ctrl-C stays what it is everywhere. All of what is approved is shown before
 * it is asked for. Whoever gives no answer is not asked again by this command; what waits is in the inbox.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Json, SkeinClient } from '../../index.js'
import type { WaitingItem } from './waiting-for.js'
import { label, visible } from '../visible.js'
import { jsonOrText } from '../stdin.js'
import { markUnanswered, unansweredNote } from '../unanswered.js'
import type { CliOutput } from '../output.js'
import type { CliProcess } from '../process.js'
import type { StandstillEntry } from './summary.js'

export interface Lines {
  /** The next line; undefined at the end of the input. */
  next(): Promise<string | undefined>
  close(): void
}

export function readLines({ stdin }: Pick<CliProcess, 'stdin'>): Lines {
  const reader = createInterface({ input: stdin, terminal: false })
  const lines = reader[Symbol.asyncIterator]()
  return {
    async next() {
      const { value, done } = await lines.next()
      return done === true ? undefined : value
    },
    close: () => reader.close(),
  }
}

interface Means {
  readonly out: CliOutput
  readonly shell: CliProcess
  readonly client: SkeinClient
  readonly lines: Lines
}

/** Says whether something was decided, so that the turn goes on. */
export type Ask = (halt: StandstillEntry) => Promise<boolean>

export function createAsk(means: Means): Ask {
  const decided = new Set<string>()
  const left = new Set<string>()
  return async ({ pending }) => {
    means.out.show([])
    for (const item of pending) {
      // The turn may not have taken it yet.
      if (decided.has(item.id) || left.has(item.id)) continue
      const answer = await askFor(means, item)
      if (answer === 'later') left.add(item.id)
      else decided.add(item.id)
    }
    return pending.some(({ id }) => decided.has(id))
  }
}

function askFor(means: Means, item: WaitingItem): Decision | Promise<Decision> {
  if (item.why === 'approval') return askApproval(means, item)
  return item.why === 'person' ? askAnswer(means, item) : 'later'
}

type Decision = 'decided' | 'later'

function show({ out }: Means, { tool, args, prompt, reference }: WaitingItem, words: string): void {
  const whose = reference === undefined ? '' : `${reference} › `
  out.print(
    `${out.paint('yellow', `‖ ${whose}${label(tool)} ${words}`)}${prompt === undefined ? '' : `\n${visible(prompt)}`}\n${indented(args)}\n`,
  )
}

function indented(args: Json): string {
  return visible(JSON.stringify(args, undefined, 2))
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')
}

async function askApproval(means: Means, item: WaitingItem): Promise<Decision> {
  const { client, lines, out } = means
  show(means, item, 'waits for approval')
  for (;;) {
    out.print('Run it? y: yes, n: no, e: with other args, Enter: later\n')
    const [word = ''] = (await lines.next())?.trim().toLowerCase() ?? ''
    if (word === '') return 'later'
    if (word === 'y') return said(means, client.inbox.approve(item.id))
    if (word === 'n') {
      out.print('Why not? The model reads it (Enter: no word)\n')
      const comment = (await lines.next())?.trim() ?? ''
      return said(means, client.inbox.reject(item.id, comment === '' ? {} : { comment }))
    }
    if (word !== 'e') continue
    const args = await edited(means, item.args)
    if (args !== undefined && (await said(means, client.inbox.approve(item.id, { args }))) === 'decided')
      return 'decided'
  }
}

async function askAnswer(means: Means, item: WaitingItem): Promise<Decision> {
  const { client, lines, out } = means
  show(means, item, 'waits for an answer')
  for (;;) {
    out.print('Your answer: JSON, or text where it is none (Enter: later)\n')
    const answer = (await lines.next())?.trim() ?? ''
    if (answer === '') return 'later'
    if ((await said(means, client.inbox.answer(item.id, jsonOrText(answer)))) === 'decided') return 'decided'
  }
}

/** What does not fit is told, and asked for again; what someone else has decided meanwhile is not. */
async function said({ out }: Means, answer: Promise<void>): Promise<Decision> {
  const { SkeinError } = await import('../../index.js')
  try {
    // Where the host has left meanwhile, it is kept for the next one.
    if ((await markUnanswered(answer)) === 'kept') out.note(unansweredNote)
    return 'decided'
  } catch (thrown) {
    if (
      !SkeinError.is(thrown) ||
      (thrown.code !== 'BAD_OPTION' && thrown.code !== 'TOOL_INPUT_INVALID' && thrown.code !== 'COMMAND_REFUSED')
    )
      throw thrown
    out.note(visible(thrown.message))
    return thrown.code === 'COMMAND_REFUSED' ? 'decided' : 'later'
  }
}

/** In the person's editor where there is one, else typed as a line. Undefined where nothing readable came of it. */
async function edited({ out, shell, lines }: Means, args: Json): Promise<unknown> {
  const editor = shell.env['VISUAL'] || shell.env['EDITOR']
  if (!editor) out.print('The args as JSON, in one line\n')
  const written = editor ? await inEditor(editor, JSON.stringify(args, undefined, 2)) : await lines.next()
  try {
    return written === undefined ? undefined : (JSON.parse(written) as unknown)
  } catch (thrown) {
    out.note(`this is not JSON: ${thrown instanceof Error ? visible(thrown.message) : ''}`)
    return undefined
  }
}

async function inEditor(editor: string, text: string): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'skein-edit-'))
  const file = join(folder, 'args.json')
  try {
    await writeFile(file, `${text}\n`, { mode: 0o600 })
    // An editor may be a command with words of its own, as `code --wait`.
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' })
    const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve))
    return code === 0 ? await readFile(file, 'utf8') : undefined
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
