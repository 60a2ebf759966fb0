/**
 * What waits in the inbox, as questions that an MCP client puts to its person (elicitation), and the decisions that
 * come back.
 *
 * - Values of variables are never asked for: they may be secrets, and a form of a client is no place for them.
 * - An answer counts only for what the run still waits for, and as a decision of the one who asked.
 */
import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { SkeinError } from '../../index.js'
import type { InboxItem } from '../../index.js'
import type { McpScene } from './route-tools.js'

export type ElicitationForm = ElicitRequestFormParams

const questions = z.object({
  questions: z.array(
    z.object({
      question: z.string(),
      header: z.string(),
      options: z.array(z.object({ label: z.string() })).optional(),
      multiSelect: z.boolean().optional(),
      freeText: z.boolean().optional(),
    }),
  ),
})

type Question = z.output<typeof questions>['questions'][number]

/** Undefined: it is not for a form. */
export function formOf(item: InboxItem): ElicitationForm | undefined {
  if (item.why === 'approval') return approvalForm(item)
  if (item.why !== 'person') return undefined
  const asked = questionsOf(item)
  return asked ? questionForm(asked) : outputForm(item)
}

function questionsOf({ tool, args }: InboxItem): readonly Question[] | undefined {
  return tool === 'ask_user_question' ? questions.safeParse(args).data?.questions : undefined
}

const who = ({ agent, reference }: InboxItem): string => (reference === undefined ? agent : `${agent} (${reference})`)

const ownWords = (prompt: string | undefined): string => (prompt === undefined ? '' : `${prompt}\n`)

const mostShown = 2_000

function shownArgs({ args }: InboxItem): string {
  const text = JSON.stringify(args, undefined, 2)
  return text.length > mostShown ? `${text.slice(0, mostShown)}… (${text.length} characters)` : text
}

function approvalForm(item: InboxItem): ElicitationForm {
  const { tool, prompt, unknown } = item
  const warning = unknown ? 'It may have run already; approving runs it again.\n' : ''
  return {
    mode: 'form',
    message: `${who(item)} asks to call ${tool}.\n${warning}${ownWords(prompt)}${shownArgs(item)}`,
    requestedSchema: {
      type: 'object',
      properties: {
        decision: { type: 'string', title: 'Decision', enum: ['approve', 'reject'] },
        comment: { type: 'string', title: 'Comment', description: 'The model reads it where the call is rejected' },
      },
      required: ['decision'],
    },
  }
}

function questionForm(asked: readonly Question[]): ElicitationForm {
  const fields = asked.flatMap((question, index) => fieldsOf(question, index))
  return {
    mode: 'form',
    message: asked.map(({ question }) => question).join('\n'),
    requestedSchema: {
      type: 'object',
      properties: Object.fromEntries(fields),
      required: asked.flatMap((question, index) => (hasOwnWords(question) ? [] : [`choice_${index}`])),
    },
  }
}

type Field = ElicitationForm['requestedSchema']['properties'][string]

const hasOwnWords = ({ options, freeText }: Question): boolean => options === undefined || freeText !== false

function fieldsOf(question: Question, index: number): [string, Field][] {
  const { header: title, question: description, options, multiSelect } = question
  const labels = options?.map(({ label }) => label) ?? []
  const choice: Field = multiSelect
    ? { type: 'array', title, description, items: { type: 'string', enum: labels } }
    : { type: 'string', title, description, enum: labels }
  const words: Field = { type: 'string', title: options ? `${title}: own words` : title, description }
  return [
    ...(options ? [[`choice_${index}`, choice] satisfies [string, Field]] : []),
    ...(hasOwnWords(question) ? [[`words_${index}`, words] satisfies [string, Field]] : []),
  ]
}

function outputForm(item: InboxItem): ElicitationForm {
  const { tool, prompt } = item
  return {
    mode: 'form',
    message: `${who(item)} waits for the output of ${tool}.\n${ownWords(prompt)}${shownArgs(item)}`,
    requestedSchema: {
      type: 'object',
      properties: { output: { type: 'string', title: 'Output', description: 'JSON, or text where it is none' } },
      required: ['output'],
    },
  }
}

export interface ElicitationAnswer {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: Readonly<Record<string, unknown>>
}

/** What became of an answer; `unfit`: why it was not taken. */
export type Decided = 'decided' | 'left' | { readonly unfit: string }

export async function decide(
  { skein, principal }: McpScene,
  item: InboxItem,
  { action, content = {} }: ElicitationAnswer,
): Promise<Decided> {
  if (action === 'cancel') return 'left'
  const by = principal.name
  try {
    if (action === 'decline') await skein.inbox.reject(item.id, { by })
    else await accept({ skein, by }, item, content)
    return 'decided'
  } catch (thrown) {
    if (!SkeinError.is(thrown)) throw thrown
    // Someone else was faster.
    if (thrown.code === 'COMMAND_REFUSED') return 'decided'
    return { unfit: thrown.message }
  }
}

const decisionSchema = z.object({ decision: z.enum(['approve', 'reject']), comment: z.string().optional() })

async function accept(
  { skein, by }: Pick<McpScene, 'skein'> & { readonly by: string },
  item: InboxItem,
  content: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (item.why !== 'approval') return skein.inbox.answer(item.id, outputOf(item, content), { by })
  const { data } = decisionSchema.safeParse(content)
  if (!data) throw new SkeinError('BAD_OPTION', 'a decision is "approve" or "reject"')
  const comment = data.comment ? { comment: data.comment } : {}
  return data.decision === 'approve'
    ? skein.inbox.approve(item.id, { by, ...comment })
    : skein.inbox.reject(item.id, { by, ...comment })
}

function outputOf(item: InboxItem, content: Readonly<Record<string, unknown>>): unknown {
  const asked = questionsOf(item)
  if (!asked) return parsedOrText(String(content['output'] ?? ''))
  return {
    answers: asked.map((_, index) => ({
      selected: [content[`choice_${index}`] ?? []].flat(),
      text: String(content[`words_${index}`] ?? ''),
    })),
  }
}

export function parsedOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
