/**
 * `hostTools`: read, write, edit, grep and bash on a real directory, for agents that are trusted with one. Paths stay
 * below it; processes do not (they are the machine's own), so give it to a container or to someone you trust.
 *
 * - `write`, `edit` and `bash` have side effects: `write` is idempotent; `edit` has a probe that tells whether it
 *   happened; a command has none, and gets its key as SKEIN_IDEMPOTENCY_KEY.
 * - The options set the time limit of a command; a model may ask for less. The pool enforces it, too, in case the
 *   worker is blocked.
 */
import { resolve } from 'node:path'
import { z } from 'zod'
import { defineTool } from '../../agent/define.js'
import type { ToolDefinition } from '../../agent/define.js'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import { lazy } from '../../core/schema.js'
import { bashArgs, editArgs, grepArgs, readArgs, writeArgs } from './args.js'
import { runBody } from './body.js'
import { commandTimeoutMs, longestTimeoutMs, outputBytes } from './limits.js'

/** `auto`: Linux namespaces if available; `required`: no command without them; `none`. */
export type Isolation = 'auto' | 'required' | 'none'

export interface HostToolsOptions {
  /** Paths are relative to it and stay below it; commands run in it. */
  readonly rootDir: string
  /** Default false: commands that plainly reach for the network are refused, and with namespaces there is none. */
  readonly allowNetwork?: boolean
  /** After this long a command is killed with all it started. Default 60,000; at most an hour. */
  readonly timeoutMs?: number
  /**
   * What commands see besides PATH, HOME (the root) and LANG: the identity for git, a proxy, a cache. No secrets:
   * commands can print it.
   */
  readonly env?: Readonly<Record<string, string>>
  /**
   * The user and group that commands run as, and that new files belong to. Default: the host's. Needs a host that
   * runs as root.
   */
  readonly uid?: number
  readonly gid?: number
  /** Default `auto`. */
  readonly isolation?: Isolation
  /** Of a result. Default 200,000. */
  readonly maxOutputBytes?: number
}

/** The settings that bodies get. */
export interface HostToolSettings {
  readonly rootDir: string
  readonly allowNetwork: boolean
  readonly timeoutMs: number
  readonly maxOutputBytes: number
  readonly env: Readonly<Record<string, string>>
  readonly uid?: number
  readonly gid?: number
  readonly isolation: Isolation
}

/** Beyond the limit that the body itself keeps. */
const spareMs = 5_000

const id = () =>
  z
    .number()
    .int()
    .min(0)
    .max(2 ** 32 - 2)
const ownNames = ['SKEIN_IDEMPOTENCY_KEY', 'SKEIN_COMMAND']
const optionsSchema = lazy(() =>
  z.strictObject({
    rootDir: z.string().min(1),
    allowNetwork: z.boolean().default(false),
    timeoutMs: z.number().int().min(1).default(commandTimeoutMs),
    maxOutputBytes: z.number().int().min(1000).default(outputBytes),
    env: z
      .record(z.string(), z.string())
      .superRefine((env, { addIssue }) => {
        for (const [name, value] of Object.entries(env)) {
          if (!/^[a-zA-Z_]\w*$/.test(name)) addIssue(`${name} is not the name of a variable`)
          if (ownNames.includes(name)) addIssue(`${name} belongs to Skein`)
          if (value.includes('\0')) addIssue(`${name} has a zero byte in its value`)
        }
      })
      .default({}),
    uid: id().exactOptional(),
    gid: id().exactOptional(),
    isolation: z.enum(['auto', 'required', 'none']).default('auto'),
  }),
)

/** By a symbol, not by identity: a definition may come from another copy of the package (DE1). */
const starts = Symbol.for('skein.commands')

/** Which processes of the machine a tool starts, and as which user. */
export interface StartedCommands {
  readonly name: string
  /** Absent: as the host. */
  readonly uid?: number
}

export function commandsOf(tool: ToolDefinition): StartedCommands | undefined {
  return (tool as ToolDefinition & { readonly [starts]?: StartedCommands })[starts]
}

export function hostTools(options: HostToolsOptions): readonly ToolDefinition[] {
  const settings = settingsOf(options)
  const { rootDir } = settings
  return [
    defineTool({
      name: 'read',
      description: `Reads a text file below ${rootDir}. Of a large file ask for some lines with offset and limit.`,
      args: readArgs(),
      execute: (_state, args) => runBody('host-tools/read', settings, args),
    }),
    defineTool({
      name: 'write',
      description: `Writes a text file below ${rootDir}, in place of what was there.`,
      args: writeArgs(),
      sideEffect: true,
      idempotent: true,
      execute: (_state, args) => runBody('host-tools/write', settings, args),
    }),
    defineTool({
      name: 'edit',
      description: `Changes a text file below ${rootDir} by a unified diff.`,
      args: editArgs(),
      sideEffect: true,
      idempotent: false,
      execute: (_state, args) => runBody('host-tools/edit', settings, args),
      probe: (_state, args) => runBody('host-tools/edit-probe', settings, args),
    }),
    defineTool({
      name: 'grep',
      description:
        `Searches text files below ${rootDir} for a regular expression; gives path:line:text. Passes ` +
        `over .git and node_modules.`,
      args: grepArgs(),
      timeoutMs: settings.timeoutMs + spareMs,
      execute: (state, args) => runBody('host-tools/grep', settings, args, state.signal),
    }),
    bashTool(settings),
  ]
}

function bashTool(settings: HostToolSettings): ToolDefinition {
  const { rootDir, timeoutMs, uid } = settings
  const tool = defineTool({
    name: 'bash',
    description: [
      `Runs one command in ${rootDir} without a shell: cmd and its args. For pipes and redirections: {cmd: "sh", ` +
        `args: ["-lc", script]}.`,
      `It has ${timeoutMs / 1000} s, or less where opts.timeoutMs says so. What it leaves running is killed when ` +
        `it ends.`,
    ].join(' '),
    args: bashArgs(),
    sideEffect: true,
    idempotent: false,
    timeoutMs: timeoutMs + spareMs,
    execute: (state, args) =>
      runBody('host-tools/bash', settings, args, { signal: state.signal, idempotencyKey: state.idempotencyKey }),
  })
  const commands: StartedCommands = { name: `the commands of bash in ${rootDir}`, ...defined({ uid }) }
  return Object.assign(tool, { [starts]: commands })
}

function settingsOf(options: HostToolsOptions): HostToolSettings {
  const checked = optionsSchema().safeParse(options)
  if (!checked.success) {
    const text = checked.error.issues
      .map(({ path, message }) => `${path.join('.') || '(options)'}: ${message}`)
      .join('; ')
    throw new SkeinError('BAD_OPTION', `hostTools cannot be made of these options: ${text}`)
  }
  const { rootDir, timeoutMs, ...rest } = checked.data
  return { ...rest, rootDir: resolve(rootDir), timeoutMs: Math.min(timeoutMs, longestTimeoutMs) }
}
