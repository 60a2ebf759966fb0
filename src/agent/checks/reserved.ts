/**
 * Names that belong to Skein: no definition may have one (D1).
 */

/** Tools of the runtime that a prompt names like any other; the rest are there when they are needed. */
const nameable = ['manage_todo_list', 'ask_user_question', 'attach_files']

const reserved: ReadonlySet<string> = new Set([
  ...nameable,
  'subagent_create',
  'subagent_message',
  'subagent_list',
  'get_tool_response',
  'load_skill',
  'read_skill_file',
  'response',
  'shared',
])

export function isReserved(name: string): boolean {
  return reserved.has(name)
}

/** What a prompt may name of them. */
export const runtimeTools: ReadonlySet<string> = new Set(nameable)
