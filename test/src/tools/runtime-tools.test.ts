/** Tools of the runtime: the todo list, and questions to a person. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSkeinError } from '../../../src/core/failure.js'
import type { Json } from '../../../src/core/json.js'
import { fitAnswers, questionArgs, speakAnswers } from '../../../src/tools/own/question.js'
import { applyTodo, emptyTodoList, todoArgs } from '../../../src/tools/own/todo.js'
import type { TodoList } from '../../../src/tools/own/todo.js'
import { askUserQuestion, callArgs, manageTodoList, todoValue } from '../../../src/tools/own/runtime.js'
import { checkArgs } from '../../../src/tools/args.js'
import { toolState } from '../../workers/builtins/call.js'

const apply = (list: TodoList, args: unknown): TodoList => applyTodo(list, todoArgs().parse(args))
const plan = apply(emptyTodoList, {
  operation: 'write',
  items: [{ title: 'look' }, { title: 'build', description: 'all of it' }],
})

describe('manage_todo_list', () => {
  it('T12: write makes a list, read gives it', () => {
    expect(plan).toEqual({
      version: 1,
      items: [
        { id: 1, title: 'look', status: 'not-started' },
        { id: 2, title: 'build', description: 'all of it', status: 'not-started' },
      ],
    })
    expect(apply(plan, { operation: 'read' })).toBe(plan)
    expect(apply(emptyTodoList, { operation: 'read' })).toEqual({ version: 0, items: [] })
    expect(apply(plan, { operation: 'write', items: [{ id: 7, title: 'other', status: 'completed' }] })).toEqual({
      version: 2,
      items: [{ id: 7, title: 'other', status: 'completed' }],
    })
    expect(apply(plan, { operation: 'write', items: [] })).toEqual({ version: 2, items: [] })
  })

  it('T12: update changes items by id and leaves the rest', () => {
    const begun = apply(plan, { operation: 'update', items: [{ id: 2, status: 'in-progress' }] })
    expect(begun).toEqual({ version: 2, items: [plan.items[0], { ...plan.items[1], status: 'in-progress' }] })
    const swapped = apply(begun, {
      operation: 'update',
      items: [
        { id: 2, status: 'completed' },
        { id: 1, title: 'look again', status: 'in-progress' },
      ],
    })
    expect(swapped.items.map(({ title, status }) => [title, status])).toEqual([
      ['look again', 'in-progress'],
      ['build', 'completed'],
    ])
  })

  it('a change that changes nothing keeps the version', () => {
    expect(apply(plan, { operation: 'update', items: [{ id: 1, status: 'not-started' }] })).toBe(plan)
    expect(apply(plan, { operation: 'update', items: [] })).toBe(plan)
    expect(
      apply(plan, { operation: 'write', items: [{ title: 'look' }, { description: 'all of it', title: 'build' }] }),
    ).toBe(plan)
  })

  it.each<readonly [name: string, args: object, told: { readonly code: string; readonly message: RegExp }]>([
    [
      'T12: another version',
      { operation: 'update', items: [{ id: 1, status: 'completed' }], expectedVersion: 0 },
      { code: 'TOOL_FAILED', message: /its version is 1, not 0/ },
    ],
    [
      'T12: also to read',
      { operation: 'read', expectedVersion: 2 },
      { code: 'TOOL_FAILED', message: /its version is 1, not 2/ },
    ],
    [
      'T12: two in progress',
      {
        operation: 'update',
        items: [
          { id: 1, status: 'in-progress' },
          { id: 2, status: 'in-progress' },
        ],
      },
      { code: 'TOOL_INPUT_INVALID', message: /at most one item may be in-progress, not 1 and 2/ },
    ],
    [
      'two in a new list',
      {
        operation: 'write',
        items: [
          { title: 'a', status: 'in-progress' },
          { title: 'b', status: 'in-progress' },
        ],
      },
      { code: 'TOOL_INPUT_INVALID', message: /at most one/ },
    ],
    [
      'an unknown id',
      { operation: 'update', items: [{ id: 3, status: 'completed' }] },
      { code: 'TOOL_INPUT_INVALID', message: /no item 3; there are: 1, 2/ },
    ],
    [
      'no id',
      { operation: 'update', items: [{ status: 'completed' }] },
      { code: 'TOOL_INPUT_INVALID', message: /items\.0 has no id/ },
    ],
    [
      'one id twice',
      {
        operation: 'update',
        items: [
          { id: 1, title: 'a' },
          { id: 1, title: 'b' },
        ],
      },
      { code: 'TOOL_INPUT_INVALID', message: /id 1 is there twice/ },
    ],
    [
      'an id of another place',
      { operation: 'write', items: [{ id: 2, title: 'a' }, { title: 'b' }] },
      { code: 'TOOL_INPUT_INVALID', message: /id 2 is there twice/ },
    ],
    [
      'no title',
      { operation: 'write', items: [{ id: 2 }] },
      { code: 'TOOL_INPUT_INVALID', message: /items\.0 has no title/ },
    ],
    ['no items', { operation: 'write' }, { code: 'TOOL_INPUT_INVALID', message: /write needs items/ }],
  ])('%s is refused, with the version as it is', (_name, args, { code, message }) => {
    const refuse = () => apply(plan, args)
    expect(refuse).toThrow(message)
    expect(refuse).toThrow(/version 1 is: \[\{"id":1,/)
    expect(refuse).toThrow(expect.objectContaining({ code, data: { version: 1 } }))
  })

  /** What is refused leaves the list as it is. */
  const attempt = (list: TodoList, args: unknown): TodoList => {
    try {
      return apply(list, args)
    } catch (thrown) {
      if (isSkeinError(thrown)) return list
      throw thrown
    }
  }

  it('whatever is asked, at most one is in progress and the version counts the changes', () => {
    const item = fc.record(
      {
        id: fc.integer({ min: 1, max: 4 }),
        title: fc.constantFrom('a', 'b'),
        status: fc.constantFrom('not-started', 'in-progress', 'completed'),
      },
      { requiredKeys: [] },
    )
    const args = fc.record(
      {
        operation: fc.constantFrom('write', 'update', 'read'),
        items: fc.array(item, { maxLength: 4 }),
        expectedVersion: fc.nat(3),
      },
      { requiredKeys: ['operation'] },
    )
    fc.assert(
      fc.property(fc.array(args, { maxLength: 12 }), (asked) => {
        let list = emptyTodoList
        for (const each of asked) {
          const before = structuredClone(list)
          const next = attempt(list, each)
          expect(list).toEqual(before)
          expect(next.version).toBe(list.version + (JSON.stringify(next.items) === JSON.stringify(list.items) ? 0 : 1))
          expect(next.items.filter(({ status }) => status === 'in-progress').length).toBeLessThanOrEqual(1)
          expect(new Set(next.items.map(({ id }) => id)).size).toBe(next.items.length)
          expect(next === list || (each.expectedVersion ?? list.version) === list.version).toBe(true)
          list = next
        }
      }),
    )
  })

  it('T12: the tool keeps the list with the thread, and sets it only when it changed', async () => {
    const sets: Json[] = []
    const state = toolState({
      [todoValue]: { get: async () => sets.at(-1), set: async (value) => void sets.push(value) },
    })
    const call = async (args: unknown) =>
      manageTodoList.execute && manageTodoList.execute(state, todoArgs().parse(args))
    expect(await call({ operation: 'read' })).toEqual({ version: 0, items: [] })
    await call({ operation: 'write', items: [{ title: 'a' }] })
    await call({ operation: 'update', items: [{ id: 1, status: 'not-started' }] })
    expect(sets).toEqual([{ version: 1, items: [{ id: 1, title: 'a', status: 'not-started' }] }])
    expect(await call({ operation: 'read' })).toEqual(sets[0])
  })
})

const { questions } = questionArgs().parse({
  questions: [
    {
      question: 'Which colour?',
      header: 'Colour',
      options: [{ label: 'Red' }, { label: 'Blue', description: 'as the sky' }],
    },
    {
      question: 'Which parts?',
      header: 'Parts',
      options: [{ label: 'A' }, { label: 'B' }, { label: 'C' }],
      multiSelect: true,
      freeText: false,
    },
    { question: 'What else?', header: 'Else' },
  ],
})
const [colour, some, open] = questions
if (!colour || !some || !open) throw new Error('three were asked')

describe('ask_user_question', () => {
  it('T12: takes 1 to 4 questions with 2 to 4 options', () => {
    const fits = (args: unknown) => checkArgs('ask_user_question', askUserQuestion.args, args).ok
    const option = (label: string) => ({ label })
    const one = { question: 'Why?', header: 'Why' }
    expect(fits({ questions: [one] })).toBe(true)
    expect(fits({ questions: [one, one, one, one] })).toBe(true)
    expect(fits({ questions: [] })).toBe(false)
    expect(fits({ questions: [one, one, one, one, one] })).toBe(false)
    expect(fits({ questions: [{ ...one, options: ['a', 'b', 'c', 'd'].map(option) }] })).toBe(true)
    expect(fits({ questions: [{ ...one, options: [option('a')] }] })).toBe(false)
    expect(fits({ questions: [{ ...one, options: ['a', 'b', 'c', 'd', 'e'].map(option) }] })).toBe(false)
    expect(fits({ questions: [{ ...one, options: ['a', 'a'].map(option) }] })).toBe(false)
  })

  it('T12: answers in any of their forms', () => {
    const full = fitAnswers(questions, {
      answers: [{ selected: 'Blue', text: 'light' }, { selected: ['C', 'A', 'A'] }, { text: 'no' }],
    })
    expect(full.answers).toEqual([
      { header: 'Colour', question: 'Which colour?', selected: ['Blue'], text: 'light' },
      { header: 'Parts', question: 'Which parts?', selected: ['C', 'A'] },
      { header: 'Else', question: 'What else?', selected: [], text: 'no' },
    ])
    expect(
      fitAnswers(questions, ['Green, please', ['A'], 'Red']).answers.map(({ selected, text }) => [selected, text]),
    ).toEqual([
      [[], 'Green, please'],
      [['A'], undefined],
      [[], 'Red'],
    ])
    for (const response of [
      'Red',
      ['Red'],
      { selected: 'Red' },
      { answers: 'Red' },
      { answers: ['Red'] },
      [{ selected: ['Red'] }],
    ]) {
      expect(fitAnswers([colour], response).answers).toEqual([
        { header: 'Colour', question: 'Which colour?', selected: ['Red'] },
      ])
    }
    expect(fitAnswers([some], ['A', 'B']).answers[0]?.selected).toEqual(['A', 'B'])
    expect(speakAnswers(full)).toBe('Which colour?\n→ Blue; "light"\n\nWhich parts?\n→ C, A\n\nWhat else?\n→ "no"')
  })

  it.each<readonly [name: string, asked: readonly (typeof colour)[], told: readonly [response: Json, message: RegExp]]>(
    [
      ['too few', questions, [['Red'], /3 questions were asked, 1 answered/]],
      ['one for many', questions, ['Red', /3 questions were asked, 1 answered/]],
      [
        'an option that was not offered',
        [colour],
        [{ selected: ['Green'] }, /no option "Green"; there are: Red, Blue/],
      ],
      ['two where one is asked', [colour], [['Red', 'Blue'], /takes one option, not 2/]],
      [
        'own words where they are not welcome',
        [some],
        ['none of them', /takes an option, not own words; there are: A, B, C/],
      ],
      ['an empty text', [open], ['  ', /"Else" has no answer/]],
      ['nothing', [open], [{}, /"Else" has no answer/]],
      ['an empty choice', [some], [[], /"Parts" has no answer/]],
      ['a number', [open], [5, /is 5; send a text/]],
      ['null', [open], [null, /is null; send a text/]],
      ['a text that is none', [open], [{ text: 5 }, /is no text/]],
      ['a choice that is none', [some], [{ selected: [1] }, /no list of texts/]],
    ],
  )('%s does not fit', (_name, asked, [response, message]) => {
    expect(() => fitAnswers(asked, response)).toThrow(message)
    expect(() => fitAnswers(asked, response)).toThrow(expect.objectContaining({ code: 'TOOL_OUTPUT_INVALID' }))
  })

  it('T12: a person is asked, and the tool makes its result of the answer', async () => {
    const args = { questions: [{ question: 'Sure?', header: 'Sure', options: [{ label: 'Yes' }, { label: 'No' }] }] }
    const state = toolState({ [callArgs]: args })
    expect(await askUserQuestion.onToolCalled?.(state, questionArgs().parse(args))).toBeNull()
    const output = await askUserQuestion.onResponseReceived?.(state, 'Yes')
    expect(output).toEqual({ answers: [{ header: 'Sure', question: 'Sure?', selected: ['Yes'] }] })
  })
})
