/**
 * The questions of `ask_user_question`, and the check of answers. Pure.
 *
 * - An answer is valid if every question has one: offered options, only one unless several are allowed, or free text
 *   where that is allowed.
 */
import { z } from 'zod'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import { lazy } from '../../core/schema.js'

const questionSchema = lazy(() =>
  z.object({
    question: z.string().min(1).describe('The whole question.'),
    header: z.string().min(1).max(30).describe('Two or three words that stand above it.'),
    options: z
      .array(
        z.object({
          label: z.string().min(1).max(100),
          description: z.string().optional().describe('What choosing it means.'),
        }),
      )
      .min(2)
      .max(4)
      .refine(
        (options) => new Set(options.map(({ label }) => label)).size === options.length,
        'two options have the same label',
      )
      .optional()
      .describe('2 to 4 to choose from. Without them the person writes.'),
    multiSelect: z.boolean().default(false).describe('Several options may be chosen.'),
    freeText: z.boolean().default(true).describe('Besides choosing, or instead, the person may write.'),
  }),
)

export const questionArgs = lazy(() => z.object({ questions: z.array(questionSchema()).min(1).max(4) }))

export type Question = z.output<ReturnType<typeof questionSchema>>

export const questionOutput = lazy(() =>
  z.object({
    answers: z.array(
      z.object({
        header: z.string(),
        question: z.string(),
        selected: z.array(z.string()),
        text: z.string().optional(),
      }),
    ),
  }),
)

export type QuestionOutput = z.output<ReturnType<typeof questionOutput>>

/**
 * Checks the answer of a person: `{ answers: [...] }` or the list, with one entry for each question in their order: a
 * text (an option or free text), a list of options, or `{ selected?, text? }`. A single question may be answered
 * without the list.
 */
export function fitAnswers(questions: readonly Question[], response: Json): QuestionOutput {
  const answers = answersIn(questions, response)
  if (answers.length !== questions.length)
    throw unfit(`${questions.length} questions were asked, ${answers.length} answered`)
  return { answers: questions.map((question, index) => fitAnswer(question, answers[index] ?? null)) }
}

function answersIn(questions: readonly Question[], response: Json): readonly Json[] {
  const inner = isObject(response) && 'answers' in response ? (response['answers'] ?? null) : response
  if (questions.length > 1) return isList(inner) ? inner : [inner]
  // For a single question, a list of texts is its selection.
  return isList(inner) && inner.length === 1 ? inner : [inner]
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value)

function fitAnswer(question: Question, answer: Json): QuestionOutput['answers'][number] {
  const { header, question: words } = question
  const labels = question.options?.map(({ label }) => label) ?? []
  const { selected, text } = parts(question, answer, labels)
  const strange = selected.find((label) => !labels.includes(label))
  if (strange !== undefined)
    throw unfit(
      `${JSON.stringify(header)} has no option ${JSON.stringify(strange)}; there are: ${labels.join(', ') || 'none'}`,
    )
  if (selected.length > 1 && !question.multiSelect)
    throw unfit(`${JSON.stringify(header)} takes one option, not ${selected.length}`)
  if (text !== undefined && labels.length > 0 && !question.freeText)
    throw unfit(`${JSON.stringify(header)} takes an option, not own words; there are: ${labels.join(', ')}`)
  if (selected.length === 0 && text === undefined) throw unfit(`${JSON.stringify(header)} has no answer`)
  return { header, question: words, selected: [...new Set(selected)], ...defined({ text }) }
}

interface Parts {
  readonly selected: readonly string[]
  readonly text?: string
}

function parts({ header }: Question, answer: Json, labels: readonly string[]): Parts {
  if (typeof answer === 'string')
    return labels.includes(answer) ? { selected: [answer] } : { selected: [], ...own(answer) }
  if (isList(answer)) return { selected: texts(header, answer) }
  if (!isObject(answer))
    throw unfit(
      `the answer to ${JSON.stringify(header)} is ${JSON.stringify(answer)}; send a text, a list of options, or { ` +
        `selected, text }`,
    )
  const { selected = [], text = '' } = answer
  if (typeof text !== 'string') throw unfit(`the text for ${JSON.stringify(header)} is no text`)
  return { selected: texts(header, typeof selected === 'string' ? [selected] : selected), ...own(text) }
}

const own = (text: string): { readonly text?: string } => (text.trim() === '' ? {} : { text })

function texts(header: string, value: unknown): readonly string[] {
  const checked = z.array(z.string()).safeParse(value)
  if (!checked.success) throw unfit(`the options chosen for ${JSON.stringify(header)} are no list of texts`)
  return checked.data
}

function unfit(why: string): SkeinError {
  return new SkeinError('TOOL_OUTPUT_INVALID', `the answer does not fit the questions: ${why}`)
}

/** The text that the model reads. */
export function speakAnswers({ answers }: QuestionOutput): string {
  return answers
    .map(({ question, selected, text }) => {
      const answerParts = [selected.join(', '), text === undefined ? '' : JSON.stringify(text)].filter(
        (part) => part !== '',
      )
      return `${question}\n→ ${answerParts.join('; ')}`
    })
    .join('\n\n')
}
