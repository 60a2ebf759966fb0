/**
 * The built-in tools: read, write, edit, grep, ls, glob and bash on the thread's own files. Definitions only; the
 * bodies are in workers/builtins and loaded when first called.
 *
 * - They touch nothing but the thread's files, so they may run ahead of other calls and again (`sideEffect: false`).
 */
import type { ToolDefinition } from '../../agent/define.js'
import { bashArgs, editArgs, globArgs, grepArgs, lsArgs, readArgs, writeArgs } from './args.js'
import { runBody } from './body.js'
import { bodyTimeoutMs, searchTimeoutMs } from './limits.js'
import { defineOwnTool } from './own-tool.js'

/** The model chooses its time limit, within bounds (src/pool/call-limit.ts). */
export const bashTool: ToolDefinition = defineOwnTool({
  name: 'bash',
  description:
    'Runs one command on the files, in a virtual shell with the usual text tools (sed, awk, jq, sort, diff, tar, ' +
    'sqlite3, …): cmd and its args, not parsed. For pipes, redirections and variables: {cmd: "sh", args: ' +
    '["-lc", script]}. There is no network, and no git, node or python.',
  args: bashArgs,
  sideEffect: false,
  execute: (state, args) => runBody('builtins/bash', state, args),
})

export const builtins: readonly ToolDefinition[] = [
  defineOwnTool({
    name: 'read',
    description: 'Reads a text file. Of a file over 200 KB ask for some lines with offset and limit.',
    args: readArgs,
    sideEffect: false,
    timeoutMs: bodyTimeoutMs,
    execute: (state, args) => runBody('builtins/read', state, args),
  }),
  defineOwnTool({
    name: 'write',
    description: 'Writes a text file of up to 200 KB, in place of what was there.',
    args: writeArgs,
    sideEffect: false,
    timeoutMs: bodyTimeoutMs,
    execute: (state, args) => runBody('builtins/write', state, args),
  }),
  defineOwnTool({
    name: 'edit',
    description: 'Changes a text file by a unified diff.',
    args: editArgs,
    sideEffect: false,
    timeoutMs: bodyTimeoutMs,
    execute: (state, args) => runBody('builtins/edit', state, args),
  }),
  defineOwnTool({
    name: 'grep',
    description: 'Searches text files for a regular expression; gives path:line:text, or nothing.',
    args: grepArgs,
    sideEffect: false,
    timeoutMs: searchTimeoutMs,
    execute: (state, args) => runBody('builtins/grep', state, args),
  }),
  defineOwnTool({
    name: 'ls',
    description: 'Lists a directory: a name a line, directories with / at the end.',
    args: lsArgs,
    sideEffect: false,
    timeoutMs: bodyTimeoutMs,
    execute: (state, args) => runBody('builtins/ls', state, args),
  }),
  defineOwnTool({
    name: 'glob',
    description: 'Finds files and directories by a pattern of their path.',
    args: globArgs,
    sideEffect: false,
    timeoutMs: searchTimeoutMs,
    execute: (state, args) => runBody('builtins/glob', state, args),
  }),
  bashTool,
]
