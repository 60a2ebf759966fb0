/**
 * The todo list of a thread and its changes by `manage_todo_list`. Pure: the list itself is a value of the thread.
 *
 * - The version grows by one with every change and only then, so a model that plans from an older one is refused.
 * - At most one item is in progress. A change that is refused changes nothing.
 */
import { z } from 'zod'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import { canonical, toJson } from '../../core/json.js'
import { lazy } from '../../core/schema.js'

const status = lazy(() => z.enum(['not-started', 'in-progress', 'completed']))

const id = lazy(() => z.number().int().min(1))

/** One shape for all three actions, because not every provider accepts a union. */
export const todoArgs = lazy(() =>
  z.object({
    operation: z
      .enum(['write', 'update', 'read'])
      .describe('write: a new list in place of the old. update: changes items by id. read: the list as it is.'),
    items: z
      .array(
        z.object({
          id: id().optional().describe('For update. In write it is the place in the list, from 1, if not given.'),
          title: z.string().min(1).optional().describe('Needed in write.'),
          description: z.string().optional(),
          status: status().optional().describe('Default in write: not-started. At most one item is in-progress.'),
        }),
      )
      .optional()
      .describe('For write and update.'),
    expectedVersion: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe('The version that you have seen; if the list has changed since, nothing is done.'),
  }),
)

export type TodoArgs = z.output<ReturnType<typeof todoArgs>>

const todoItem = lazy(() =>
  z.object({ id: id(), title: z.string(), description: z.string().optional(), status: status() }),
)

export const todoList = lazy(() =>
  z.object({
    /** 0 if there never was a list. */
    version: z.number().int().min(0),
    items: z.array(todoItem()),
  }),
)

type TodoItem = z.output<ReturnType<typeof todoItem>>
export type TodoList = z.output<ReturnType<typeof todoList>>

export const emptyTodoList: TodoList = { version: 0, items: [] }

/** The list after the action; the same object if nothing changes. */
export function applyTodo(list: TodoList, { operation, items, expectedVersion }: TodoArgs): TodoList {
  if (expectedVersion !== undefined && expectedVersion !== list.version) {
    throw refused(
      list,
      'TOOL_FAILED',
      `the todo list has changed: its version is ${list.version}, not ${expectedVersion}`,
    )
  }
  if (operation === 'read') return list
  if (!items) throw refused(list, 'TOOL_INPUT_INVALID', `${operation} needs items`)
  const next = operation === 'write' ? written(list, items) : updated(list, items)
  const busy = next.filter((each) => each.status === 'in-progress')
  if (busy.length > 1)
    throw refused(
      list,
      'TOOL_INPUT_INVALID',
      `at most one item may be in-progress, not ${busy.map((each) => each.id).join(' and ')}`,
    )
  return canonical(toJson(next)) === canonical(toJson(list.items)) ? list : { version: list.version + 1, items: next }
}

type Part = NonNullable<TodoArgs['items']>[number]

function written(list: TodoList, parts: readonly Part[]): TodoItem[] {
  const items = parts.map((part, index): TodoItem => {
    const { title } = part
    if (title === undefined) throw refused(list, 'TOOL_INPUT_INVALID', `items.${index} has no title, which write needs`)
    return item({ id: part.id ?? index + 1, title, status: part.status ?? 'not-started' }, part)
  })
  refuseTwice(
    list,
    items.map(({ id: own }) => own),
  )
  return items
}

function updated(list: TodoList, parts: readonly Part[]): TodoItem[] {
  const changes = new Map<number, Part>()
  for (const [index, part] of parts.entries()) {
    if (part.id === undefined) throw refused(list, 'TOOL_INPUT_INVALID', `items.${index} has no id, which update needs`)
    if (!list.items.some(({ id: own }) => own === part.id)) {
      throw refused(
        list,
        'TOOL_INPUT_INVALID',
        `there is no item ${part.id}; there are: ${list.items.map(({ id: own }) => own).join(', ') || 'none'}`,
      )
    }
    changes.set(part.id, part)
  }
  refuseTwice(
    list,
    parts.map((part) => part.id),
  )
  return list.items.map((found) => {
    const part = changes.get(found.id)
    return part ? item(found, part) : found
  })
}

function item(base: TodoItem, { title, description, status: to }: Part): TodoItem {
  return { ...base, ...defined({ title, description, status: to }) }
}

function refuseTwice(list: TodoList, ids: readonly (number | undefined)[]): void {
  const twice = ids.find((each, index) => ids.indexOf(each) !== index)
  if (twice !== undefined) throw refused(list, 'TOOL_INPUT_INVALID', `the id ${twice} is there twice`)
}

function refused(list: TodoList, code: 'TOOL_FAILED' | 'TOOL_INPUT_INVALID', why: string): SkeinError {
  return new SkeinError(
    code,
    `${why}. Nothing was changed; version ${list.version} is: ${JSON.stringify(list.items)}`,
    { data: { version: list.version } },
  )
}
