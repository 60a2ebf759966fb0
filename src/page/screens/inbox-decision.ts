/**
 * One item of the inbox and what can be decided about it. No single key acts: a decision is chosen, then confirmed.
 */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { InboxItem } from '../../index.js'
import { pathTo } from '../kit/api.js'
import { dayAndTime, holdWords } from '../kit/format.js'
import { JsonView } from '../kit/json-view.js'
import { useKeys } from '../kit/keys.js'
import { TextField } from '../kit/field.js'
import { plainText } from '../kit/plain-text.js'
import { hrefOf } from '../kit/router.js'
import { Action, writeBlocked } from '../kit/ui.js'
import { receiptWords, receipts, write } from '../kit/write.js'
import { useTree } from '../store/stores.js'
import { threadLabel } from '../tree/thread-label.js'
import { ArgsEditor } from './args-editor.js'
import { QuestionForm, questionsIn } from './question-form.js'
import type { QuestionAnswer } from './question-form.js'

type Choice = 'approve' | 'edit' | 'reject'

export function InboxDecision({ item }: { item: InboxItem }): VNode {
  const { why, path, agent, tool, prompt, requestedAt, deadlineAt, atDeadline, unknown, args, reference, forkedFrom } =
    item
  const isQuestion = why === 'person'
  const isVariables = why === 'variables'
  const questions = isQuestion ? questionsIn(args) : undefined
  return h(
    'section',
    { class: 'decision', 'aria-label': 'Decision' },
    h(Parents, { path, ...(reference !== undefined && { reference }) }),
    h('h2', null, h('span', { class: 'tool-name' }, tool || agent), ` waits for ${holdWords(why)}`),
    unknown
      ? h(
          'p',
          { class: 'note unknown' },
          'This call may already have run: its host died before it could say. The question is whether to run it again.',
        )
      : null,
    forkedFrom
      ? h(
          'p',
          { class: 'note' },
          'This call belongs to a fork of ',
          h('a', { href: hrefOf(['threads', forkedFrom.thread]) }, forkedFrom.thread),
          ': the thread that it was forked from may have made the same call.',
        )
      : null,
    prompt ? h('p', { class: 'prompt' }, plainText(prompt)) : null,
    h(
      'p',
      { class: 'muted' },
      `Asked by ${agent} at ${dayAndTime(requestedAt)}`,
      deadlineAt === undefined ? null : ` · decided by itself (${atDeadline ?? 'reject'}) at ${dayAndTime(deadlineAt)}`,
    ),
    isVariables || questions ? null : h('div', { class: 'args' }, h('h3', null, 'Args'), h(JsonView, { value: args })),
    isVariables ? h(VariablesForm, { item }) : null,
    isQuestion ? h(AnswerForm, { item }) : null,
    isVariables || isQuestion ? null : h(ApprovalForm, { item }),
    h(ReceiptLine, { id: item.id }),
  )
}

/** From the root down: names, as the tree has them. */
function Parents({ path, reference }: { path: readonly string[]; reference?: string }): VNode {
  const [root = ''] = path
  const [held, setHeld] = useState<ReturnType<typeof useTree>>()
  useEffect(() => {
    const used = useTree(root)
    setHeld(used)
    return () => used.release()
  }, [root])
  const store = held?.tree.value?.store
  const nameOf = (id: string): string => {
    const row = store?.row(id)
    if (row) return threadLabel(row)
    return id === path.at(-1) ? (reference ?? id) : id
  }
  return h(
    'nav',
    { class: 'crumbs', 'aria-label': 'Parents' },
    path.map((id) => h('a', { key: id, href: hrefOf(['threads', id]), title: id }, nameOf(id))),
  )
}

function ReceiptLine({ id }: { id: string }): VNode | null {
  const receipt = receipts.value[id]
  return receipt ? h('p', { class: `receipt ${receipt.phase}`, role: 'status' }, receiptWords(receipt)) : null
}

function pathOf({ thread, call }: InboxItem, what: string): string {
  return pathTo`inbox/${thread}/${call}/${what}`
}

function ApprovalForm({ item }: { item: InboxItem }): VNode {
  const [choice, setChoice] = useState<Choice>()
  const [edited, setEdited] = useState<unknown>(undefined)
  const blocked = writeBlocked.value
  const isBusy = receipts.value[item.id]?.phase === 'sending'
  const choose = (next: Choice) => () => blocked === undefined && setChoice(next)
  const decide = (comment: string): void => {
    const said = comment === '' ? {} : { comment }
    const isReject = choice === 'reject'
    const args = choice === 'edit' && edited !== undefined ? { args: edited } : {}
    const what = isReject ? 'rejected' : `approved${choice === 'edit' ? ' with other args' : ''}`
    void write({
      about: item.id,
      what,
      path: pathOf(item, isReject ? 'reject' : 'approve'),
      body: { ...args, ...said },
    })
    setChoice(undefined)
  }
  useKeys({ a: choose('approve'), e: choose('edit'), r: choose('reject'), Escape: () => setChoice(undefined) })
  const isReady = choice !== 'edit' || edited !== undefined
  return h(
    'div',
    { class: 'approval' },
    h(
      'div',
      { class: 'actions' },
      h(Action, { label: 'Approve', act: choose('approve'), kind: 'primary', blocked, keyHint: 'a' }),
      h(Action, { label: 'Edit args', act: choose('edit'), blocked, keyHint: 'e' }),
      h(Action, { label: 'Reject', act: choose('reject'), kind: 'danger', blocked, keyHint: 'r' }),
      blocked ? h('span', { class: 'blocked' }, blocked) : null,
    ),
    choice === 'edit' ? h(ArgsEditor, { args: item.args, onChange: setEdited }) : null,
    choice === undefined
      ? null
      : h(ConfirmDecision, {
          choice,
          isReady: isReady && !isBusy && blocked === undefined,
          decide,
          leave: () => setChoice(undefined),
        }),
  )
}

interface ConfirmDecisionProps {
  readonly choice: Choice
  readonly isReady: boolean
  readonly decide: (comment: string) => void
  readonly leave: () => void
}

const verbs: Readonly<Record<Choice, string>> = {
  approve: 'Approve it as it is',
  edit: 'Approve with these args',
  reject: 'Reject it',
}

function ConfirmDecision({ choice, isReady, decide, leave }: ConfirmDecisionProps): VNode {
  const [comment, setComment] = useState('')
  const confirm = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (choice !== 'edit') confirm.current?.focus()
  }, [choice])
  const act = (): void => {
    if (isReady) decide(comment)
  }
  return h(
    'div',
    { class: 'confirm' },
    h(TextField, { label: 'Comment for the model', value: comment, onText: setComment, onSend: act }),
    h(
      'button',
      {
        type: 'button',
        ref: confirm,
        class: `action ${choice === 'reject' ? 'danger' : 'primary'}`,
        disabled: !isReady,
        onClick: act,
      },
      verbs[choice],
      h('kbd', { 'aria-hidden': 'true' }, '↵'),
    ),
    h(Action, { label: 'Not now', act: leave, keyHint: 'Esc' }),
  )
}

function AnswerForm({ item }: { item: InboxItem }): VNode {
  const [text, setText] = useState('')
  const blocked = writeBlocked.value
  const send = (): void => {
    void write({ about: item.id, what: 'answered', path: pathOf(item, 'answer'), body: { output: outputOf(text) } })
  }
  const decline = (): void => void write({ about: item.id, what: 'rejected', path: pathOf(item, 'reject'), body: {} })
  const questions = questionsIn(item.args)
  if (questions) {
    const answer = (answers: readonly QuestionAnswer[]): void =>
      void write({ about: item.id, what: 'answered', path: pathOf(item, 'answer'), body: { output: { answers } } })
    return h(QuestionForm, { questions, blocked, onAnswer: answer })
  }
  return h(
    'form',
    {
      class: 'answer',
      onSubmit: (event: Event) => {
        event.preventDefault()
        if (text !== '' && blocked === undefined) send()
      },
    },
    h(TextField, { label: 'Your answer', value: text, onText: setText, rows: 4, onSend: send }),
    h('p', { class: 'muted' }, 'Text, or JSON where the tool expects more than a text.'),
    h(
      'div',
      { class: 'actions' },
      h(
        'button',
        { type: 'submit', class: 'action primary', disabled: text === '' || blocked !== undefined, title: blocked },
        'Answer',
        h('kbd', { 'aria-hidden': 'true' }, 'Ctrl ↵'),
      ),
      h(Action, { label: 'Do not answer', act: decline, kind: 'danger', blocked }),
      blocked ? h('span', { class: 'blocked' }, blocked) : null,
    ),
  )
}

/** JSON where it is some, else the text. */
function outputOf(text: string): unknown {
  if (!/^\s*[[{"]/.test(text)) return text
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch {
    return text
  }
}

/** Values go to the server once, sealed there, and are kept nowhere here. */
function VariablesForm({ item }: { item: InboxItem }): VNode {
  const { missing = [], request, thread } = item
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const blocked = writeBlocked.value
  const isWhole = missing.every((name) => (values[name] ?? '') !== '')
  const send = (): void => {
    const path =
      request === undefined ? pathTo`threads/${thread}/variables` : pathTo`threads/${thread}/variables/${request}`
    const method = request === undefined ? 'PATCH' : 'POST'
    void write({ about: item.id, what: 'values given', path, method, body: values }).then(() => setValues({}))
  }
  const decline = (): void => void write({ about: item.id, what: 'declined', path: pathOf(item, 'reject'), body: {} })
  return h(
    'form',
    {
      class: 'answer',
      onSubmit: (event: Event) => {
        event.preventDefault()
        if (isWhole && blocked === undefined) send()
      },
    },
    missing.map((name) =>
      h(TextField, {
        key: name,
        label: name,
        isSecret: true,
        value: values[name] ?? '',
        onText: (text) => setValues({ ...values, [name]: text }),
      }),
    ),
    h(
      'div',
      { class: 'actions' },
      h(
        'button',
        { type: 'submit', class: 'action primary', disabled: !isWhole || blocked !== undefined, title: blocked },
        'Give values',
      ),
      h(Action, { label: 'Decline', act: decline, kind: 'danger', blocked }),
      blocked ? h('span', { class: 'blocked' }, blocked) : null,
    ),
  )
}
