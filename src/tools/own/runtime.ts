/**
 * Tools that work on the thread itself (T12): its todo list, questions to a person, attachments of its answer, and
 * results that were cut. What they need besides the `state` of every body is a member with a symbol as its name, so
 * that no other tool uses it.
 */
import { z } from 'zod'
import type { ToolDefinition, ToolState } from '../../agent/define.js'
import { SkeinError, broken } from '../../core/failure.js'
import { toJson } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import { lazy } from '../../core/schema.js'
import { defineOwnTool } from './own-tool.js'
import { fitAnswers, questionArgs, questionOutput, speakAnswers } from './question.js'
import { applyTodo, emptyTodoList, todoArgs, todoList } from './todo.js'

/** The thread's value `todo`, read and changed like a key of `state.kv`. */
export const todoValue: unique symbol = Symbol.for('skein.todo')

export interface TodoValue {
  get(): Promise<Json | undefined>
  set(value: Json): Promise<void>
}

/** The args of the call that `onResponseReceived` completes. */
export const callArgs: unique symbol = Symbol.for('skein.call-args')

/** The whole of a result that was cut or archived, by its call's id; undefined for any other. */
export const archiveReader: unique symbol = Symbol.for('skein.archive')

/** Throws what does not fit, so that the person learns it at once. */
export const answerCheck: unique symbol = Symbol.for('skein.answer-check')

export interface CheckedAnswer {
  readonly [answerCheck]?: (args: Json, output: Json) => unknown
}

/** The state of these tools. */
export interface RuntimeState extends ToolState {
  readonly [archiveReader]?: (call: string) => Promise<string | undefined>
  readonly [todoValue]?: TodoValue
  readonly [callArgs]?: Json
}

function todoOf(state: RuntimeState): TodoValue {
  const value = state[todoValue]
  if (!value) throw broken('T12', 'the state of manage_todo_list has no todo list')
  return value
}

export const manageTodoList: ToolDefinition = defineOwnTool({
  name: 'manage_todo_list',
  description:
    'Your plan for work of several steps. write: a new list. update: change items by id, such as their status. ' +
    'read: the list as it is. Mark one item in-progress before you begin it, and completed as soon as it is done.',
  args: todoArgs,
  outputSchema: todoList,
  sideEffect: false,
  execute: async (state: RuntimeState, args) => {
    const value = todoOf(state)
    const list = todoList().parse((await value.get()) ?? emptyTodoList)
    const next = applyTodo(list, args)
    if (next !== list) await value.set(toJson(next))
    return next
  },
})

const pathArgs = lazy(() => z.object({ paths: z.array(z.string().startsWith('/')).min(1).describe('Absolute paths.') }))

export const attachFiles: ToolDefinition = defineOwnTool({
  name: 'attach_files',
  description:
    'Gives files and directories of yours to whoever asked, with your answer. They get a copy as it is when you ' +
    'have answered; name each once.',
  args: pathArgs,
  sideEffect: false,
  execute: (_state, { paths }) => ({
    status: 'success',
    result: `${paths.join(', ')}: goes with your answer`,
    attachments: paths,
  }),
})

export const askUserQuestion: ToolDefinition & CheckedAnswer = Object.assign(
  defineOwnTool({
    name: 'ask_user_question',
    description:
      'Asks the person 1 to 4 questions and waits for the answers. Offer options where you can foresee the ' +
      'answers; the person may also write, unless freeText is false.',
    args: questionArgs,
    outputSchema: questionOutput,
    onToolCalled: () => null,
    onResponseReceived: (state: RuntimeState, response) =>
      fitAnswers(questionArgs().parse(state[callArgs]).questions, response),
    toModelOutput: speakAnswers,
  }),
  { [answerCheck]: (args: Json, output: Json) => fitAnswers(questionArgs().parse(args).questions, output) },
)

/** Characters that one call of `get_tool_response` returns at most. */
const longestPart = 48 * 1024

const partArgs = lazy(() =>
  z.object({
    id: z.string().describe('id of the call whose result was cut or archived, such as call_3_0'),
    offset: z.number().int().min(0).default(0).describe('first character to give'),
    limit: z.number().int().min(1).max(longestPart).default(longestPart).describe('characters to give'),
  }),
)

/** The whole of a result that was cut or archived. Offered only where the thread has such results, or may. */
export const getToolResponse: ToolDefinition = defineOwnTool({
  name: 'get_tool_response',
  description: `Gives a part of a result that was cut or archived: up to ${longestPart} characters from offset on.`,
  args: partArgs,
  sideEffect: false,
  async execute(state: RuntimeState, { id, offset, limit }) {
    const read = state[archiveReader]
    if (!read) throw broken('T12', 'the state of get_tool_response has no archive')
    const whole = await read(id)
    if (whole === undefined)
      throw new SkeinError(
        'TOOL_INPUT_INVALID',
        `the result of ${JSON.stringify(id)} was not cut and not archived: it is in the conversation as it is`,
      )
    const part = whole.slice(offset, offset + limit)
    const end = offset + part.length
    return end < whole.length
      ? `${part}\n[characters ${offset} to ${end} of ${whole.length}; go on with offset ${end}]`
      : part
  },
})
