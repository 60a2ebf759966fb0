/**
 * Asking in place: at a terminal, a turn that waits for a person asks the one who watches it, instead of naming
 * commands to type. Reads whole lines, so that Ctrl-C works as everywhere. The whole call is shown before it is
 * approved. A question that gets no answer is not asked again by this command; it stays in the inbox.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import type { Json } from '../../index.js'
import type { WaitingItem } from './waiting-for.js'
import { label, visible } from '../visible.js'
import { jsonOrText } from '../stdin.js'
import { markUnanswered, unansweredNote } from '../unanswered.js'
import type { CliOutput } from '../output.js'
import type { CliProcess } from '../process.js'
import type { StandstillEntry } from './summary.js'
import type { AnyClient } from '../store.js'

export interface Lines {
  /** The next line; undefined at the end of the input. */
  next(): Promise<string | undefined>
  /**
   * The next line that is typed from now on; undefined at the end of the input. What was typed before a question was
   * shown is no answer to it: it stays for `next`.
   */
  answer(): Promise<string | undefined>
  /** Reads nothing while another program has the terminal. */
  lend<Value>(use: () => Promise<Value>): Promise<Value>
  close(): void
}

export function readLines({ stdin }: Pick<CliProcess, 'stdin'>): Lines {
  const open = (): Interface => createInterface({ input: stdin, terminal: false })
  const typed: string[] = []
  let asking: ((line: string | undefined) => void) | undefined
  let ended = false
  let wake: () => void = () => undefined
  const hand = (line: string | undefined): void => {
    const take = asking
    asking = undefined
    take?.(line)
  }
  const listen = (lines: Interface): Interface =>
    lines
      .on('line', (line) => {
        if (asking) return hand(line)
        typed.push(line)
        wake()
      })
      .on('close', () => {
        ended = reader === lines
        if (ended) hand(undefined)
        wake()
      })
  let reader = listen(open())
  return {
    async next() {
      while (typed.length === 0 && !ended) await new Promise<void>((resolve) => (wake = resolve))
      return typed.shift()
    },
    answer: () => (ended ? Promise.resolve(undefined) : new Promise((resolve) => (asking = resolve))),
    async lend(use) {
      const lent = reader
      reader = open()
      reader.close()
      lent.close()
      stdin.pause()
      try {
        return await use()
      } finally {
        reader = listen(open())
      }
    },
    close: () => reader.close(),
  }
}

interface AskContext {
  readonly out: CliOutput
  readonly shell: CliProcess
  readonly client: AnyClient
  readonly lines: Lines
}

/** Resolves with whether something was decided, so that the turn goes on. */
export type Ask = (standstill: StandstillEntry) => Promise<boolean>

export function createAsk(context: AskContext): Ask {
  const decided = new Set<string>()
  const postponed = new Set<string>()
  return async ({ pending }) => {
    context.out.show([])
    for (const item of pending) {
      // One that was decided is still pending until the turn has read the decision.
      if (decided.has(item.id) || postponed.has(item.id)) continue
      const answer = await askFor(context, item)
      if (answer === 'later') postponed.add(item.id)
      else decided.add(item.id)
    }
    return pending.some(({ id }) => decided.has(id))
  }
}

function askFor(context: AskContext, item: WaitingItem): Decision | Promise<Decision> {
  if (item.why === 'approval') return askApproval(context, item)
  return item.why === 'person' ? askAnswer(context, item) : 'later'
}

type Decision = 'decided' | 'later'

function show({ out }: AskContext, { tool, args, prompt, reference }: WaitingItem, words: string): void {
  const child = reference === undefined ? '' : `${reference} › `
  const question = prompt === undefined ? '' : `\n${visible(prompt)}`
  out.print(`${out.paint('yellow', `‖ ${child}${label(tool)} ${words}`)}${question}\n${indented(args)}\n`)
}

function indented(args: Json): string {
  return visible(JSON.stringify(args, undefined, 2))
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')
}

/** The whole word: a sentence is no approval because it begins with a "y". */
const words: Readonly<Record<string, 'yes' | 'no' | 'edit'>> = {
  y: 'yes',
  yes: 'yes',
  n: 'no',
  no: 'no',
  e: 'edit',
  edit: 'edit',
}

async function askApproval(context: AskContext, item: WaitingItem): Promise<Decision> {
  const { client, lines, out } = context
  show(context, item, 'waits for approval')
  for (;;) {
    out.print('Run it? y: yes, n: no, e: with other args, Enter: later\n')
    const typed = (await lines.answer())?.trim().toLowerCase() ?? ''
    if (typed === '') return 'later'
    const word = Object.hasOwn(words, typed) ? words[typed] : undefined
    if (word === 'yes') return send(context, client.inbox.approve(item.id))
    if (word === 'no') return rejectCall(context, item)
    if (word !== 'edit') continue
    const args = await editArgs(context, item.args)
    if (args !== undefined && (await send(context, client.inbox.approve(item.id, { args }))) === 'decided')
      return 'decided'
  }
}

async function rejectCall(context: AskContext, { id }: WaitingItem): Promise<Decision> {
  const { client, lines, out } = context
  out.print('Why not? The model reads it (Enter: no word)\n')
  const comment = (await lines.answer())?.trim() ?? ''
  return send(context, client.inbox.reject(id, comment === '' ? {} : { comment }))
}

async function askAnswer(context: AskContext, item: WaitingItem): Promise<Decision> {
  const { client, lines, out } = context
  show(context, item, 'waits for an answer')
  for (;;) {
    out.print('Your answer: JSON, or text where it is none (Enter: later)\n')
    const answer = (await lines.answer())?.trim() ?? ''
    if (answer === '') return 'later'
    if ((await send(context, client.inbox.answer(item.id, jsonOrText(answer)))) === 'decided') return 'decided'
  }
}

/** Failures that a person can mend, or that say that the call was decided. */
const answerable: ReadonlySet<string> = new Set(['BAD_OPTION', 'TOOL_INPUT_INVALID', 'COMMAND_REFUSED'])

/** An answer that does not fit is reported, and asked for again; a call that someone else has decided is not. */
async function send({ out }: AskContext, answer: Promise<void>): Promise<Decision> {
  const { SkeinError } = await import('../../index.js')
  try {
    // Where the host has left meanwhile, the decision is kept for the next one.
    if ((await markUnanswered(answer)) === 'kept') out.note(unansweredNote)
    return 'decided'
  } catch (thrown) {
    if (!SkeinError.is(thrown) || !answerable.has(thrown.code)) throw thrown
    out.note(visible(thrown.message))
    return thrown.code === 'COMMAND_REFUSED' ? 'decided' : 'later'
  }
}

/** Edited in the person's editor where there is one, else typed as a line. Undefined where the result is no JSON. */
async function editArgs({ out, shell, lines }: AskContext, args: Json): Promise<unknown> {
  const editor = shell.env['VISUAL'] || shell.env['EDITOR']
  if (!editor) out.print('The args as JSON, in one line\n')
  const edit = (): Promise<string | undefined> => inEditor(editor ?? '', JSON.stringify(args, undefined, 2))
  const typed = editor ? await lines.lend(edit) : await lines.answer()
  try {
    return typed === undefined ? undefined : (JSON.parse(typed) as unknown)
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
    // An editor may be a command with arguments, as `code --wait`.
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' })
    const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve))
    return code === 0 ? await readFile(file, 'utf8') : undefined
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
