/** All tools that Skein brings along; an app names them without defining them. */
import type { ToolDefinition } from '../../agent/define.js'
import { builtins } from './thread-files.js'
import { askUserQuestion, attachFiles, getToolResponse, manageTodoList } from './runtime.js'

export const ownTools: readonly ToolDefinition[] = [
  ...builtins,
  manageTodoList,
  askUserQuestion,
  attachFiles,
  getToolResponse,
]
