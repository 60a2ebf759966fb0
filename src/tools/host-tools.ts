/**
 * `hostTools`: read, write, edit, grep and bash on a real directory, for agents that are trusted with one. Paths stay below
 * it; processes do not (they are the machine's own), so give it to a container or to someone you trust.
 *
 * HX1 What changes the world is a side effect: `write` puts the same content twice and is idempotent; `edit` can be asked
 *     whether it happened; a command cannot, and is given its key as SKEIN_IDEMPOTENCY_KEY.
 */
import { resolve } from 'node:path'
import { z } from 'zod'
import { defineTool } from '../agent/define.js'
import type { ToolDefinition } from '../agent/define.js'
import { SkeinError } from '../core/failure.js'
import { editArgs, grepArgs, hostBashArgs, readArgs, writeArgs } from './builtin/args.js'
import { runBody } from './builtin/body.js'
import { commandTimeoutMs, longestTimeoutMs, outputBytes } from './builtin/limits.js'

export interface HostToolsOptions {
  /** Paths are relative to it and stay below it; commands run in it. */
  readonly rootDir: string
  /** Default false: commands that plainly reach for the network are refused. A policy, not a wall. */
  readonly allowNetwork?: boolean
  /** After this long a command is killed with all it started. Default 60,000; at most an hour. */
  readonly timeoutMs?: number
  /** Of a result. Default 200,000. */
  readonly maxOutputBytes?: number
}

/** What the bodies are told. */
export interface HostSettings {
  readonly rootDir: string
  readonly allowNetwork: boolean
  readonly timeoutMs: number
  readonly maxOutputBytes: number
}

const optionsSchema = z.strictObject({
  rootDir: z.string().min(1),
  allowNetwork: z.boolean().default(false),
  timeoutMs: z.number().int().min(1).default(commandTimeoutMs),
  maxOutputBytes: z.number().int().min(1000).default(outputBytes),
})

export function hostTools(options: HostToolsOptions): readonly ToolDefinition[] {
  const settings = settingsOf(options)
  const { rootDir } = settings
  return [
    defineTool({
      name: 'read',
      description: `Reads a text file below ${rootDir}. Of a large file ask for some lines with offset and limit.`,
      args: readArgs,
      execute: (_state, args) => runBody('host-tools/read', settings, args),
    }),
    defineTool({
      name: 'write',
      description: `Writes a text file below ${rootDir}, in place of what was there.`,
      args: writeArgs,
      sideEffect: true,
      idempotent: true,
      execute: (_state, args) => runBody('host-tools/write', settings, args),
    }),
    defineTool({
      name: 'edit',
      description: `Changes a text file below ${rootDir} by a unified diff.`,
      args: editArgs,
      sideEffect: true,
      idempotent: false,
      execute: (_state, args) => runBody('host-tools/edit', settings, args),
      probe: (_state, args) => runBody('host-tools/edit-probe', settings, args),
    }),
    defineTool({
      name: 'grep',
      description: `Searches text files below ${rootDir} for a regular expression; gives path:line:text. Passes over .git and node_modules.`,
      args: grepArgs,
      execute: (state, args) => runBody('host-tools/grep', settings, args, state.signal),
    }),
    defineTool({
      name: 'bash',
      description: `Runs one command in ${rootDir} without a shell: cmd and its args. For pipes and redirections: {cmd: "sh", args: ["-lc", script]}. What it leaves running is killed when it ends.`,
      args: hostBashArgs,
      sideEffect: true,
      idempotent: false,
      execute: (state, args) => runBody('host-tools/bash', settings, args, { signal: state.signal, idempotencyKey: state.idempotencyKey }),
    }),
  ]
}

function settingsOf(options: HostToolsOptions): HostSettings {
  const checked = optionsSchema.safeParse(options)
  if (!checked.success) {
    const text = checked.error.issues.map(({ path, message }) => `${path.join('.') || '(options)'}: ${message}`).join('; ')
    throw new SkeinError('BAD_OPTION', `hostTools cannot be made of these options: ${text}`)
  }
  const { rootDir, timeoutMs, ...rest } = checked.data
  return { ...rest, rootDir: resolve(rootDir), timeoutMs: Math.min(timeoutMs, longestTimeoutMs) }
}
