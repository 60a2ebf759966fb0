/** Questions of a model with options to choose from: a form that gives answers in the order of the questions. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { plainText } from '../kit/plain-text.js'

interface Question {
  readonly question: string
  readonly header: string
  readonly options?: readonly { readonly label: string; readonly description?: string }[]
  readonly multiSelect?: boolean
  readonly freeText?: boolean
}

export interface QuestionAnswer {
  readonly selected: readonly string[]
  readonly text?: string
}

/** Undefined: these args are of another tool. */
export function questionsIn(args: unknown): readonly Question[] | undefined {
  const { questions }: { questions?: readonly Question[] } = Object(args)
  const isForm = Array.isArray(questions) && questions.every((each) => typeof Object(each).question === 'string')
  return isForm ? questions : undefined
}

interface QuestionFormProps {
  readonly questions: readonly Question[]
  readonly blocked: string | undefined
  readonly onAnswer: (answers: readonly QuestionAnswer[]) => void
}

export function QuestionForm({ questions, blocked, onAnswer }: QuestionFormProps): VNode {
  const [answers, setAnswers] = useState<readonly QuestionAnswer[]>(questions.map(() => ({ selected: [] })))
  const change = (index: number, answer: QuestionAnswer): void =>
    setAnswers(answers.map((each, at) => (at === index ? answer : each)))
  const isWhole = answers.every(({ selected, text = '' }) => selected.length > 0 || text.trim() !== '')
  return h(
    'form',
    {
      class: 'answer',
      onSubmit: (event: Event) => {
        event.preventDefault()
        if (isWhole && blocked === undefined) onAnswer(answers)
      },
    },
    questions.map((question, index) =>
      h(QuestionField, {
        key: question.header,
        question,
        answer: answers[index] ?? { selected: [] },
        change: (next) => change(index, next),
      }),
    ),
    h(
      'div',
      { class: 'actions' },
      h(
        'button',
        { type: 'submit', class: 'action primary', disabled: !isWhole || blocked !== undefined, title: blocked },
        'Answer',
      ),
      blocked ? h('span', { class: 'blocked' }, blocked) : null,
    ),
  )
}

interface QuestionFieldProps {
  readonly question: Question
  readonly answer: QuestionAnswer
  readonly change: (answer: QuestionAnswer) => void
}

function QuestionField({ question, answer, change }: QuestionFieldProps): VNode {
  const { options = [], multiSelect, freeText, header } = question
  const toggle = (label: string, isOn: boolean): void => {
    const others = multiSelect ? answer.selected.filter((each) => each !== label) : []
    change({ ...answer, selected: isOn ? [...others, label] : others })
  }
  const type = multiSelect ? 'checkbox' : 'radio'
  return h(
    'fieldset',
    { class: 'question' },
    h('legend', null, plainText(question.question)),
    options.map(({ label, description }) =>
      h(
        'label',
        { key: label, class: 'option' },
        h('input', {
          type,
          name: header,
          checked: answer.selected.includes(label),
          onChange: (event: Event) => event.target instanceof HTMLInputElement && toggle(label, event.target.checked),
        }),
        h(
          'span',
          null,
          plainText(label),
          description ? h('span', { class: 'muted' }, ` ${plainText(description)}`) : null,
        ),
      ),
    ),
    freeText === false
      ? null
      : h('input', {
          type: 'text',
          'aria-label': `${plainText(header)}: in your own words`,
          placeholder: options.length > 0 ? 'or in your own words' : '',
          value: answer.text ?? '',
          onInput: (event: Event) =>
            event.target instanceof HTMLInputElement && change({ ...answer, text: event.target.value }),
        }),
  )
}
