/**
 * `state`: what a tool's body may use. A tool that is invoked by another has a state of its own over the same recorder:
 * other variables and another context, the same files and values.
 *
 * - A body reaches only what its own definition declares: its variables, its contexts, the tools in `uses`.
 * - Members can be destructured (`({ kv, log }) => …`), and cost nothing until they are read.
 */
import { z } from 'zod'
import type { KeyValues, ToolDefinition, ToolState } from '../../src/agent/define.js'
import { defined } from '../../src/core/defined.js'
import { SkeinError } from '../../src/core/failure.js'
import { isObject, toJson } from '../../src/core/json.js'
import type { Json } from '../../src/core/json.js'
import { checkOptions } from '../../src/core/options.js'
import type { Files } from '../../src/files/port.js'
import { checkArgs } from '../../src/tools/args.js'
import type { RunCode } from '../../src/tools/code.js'
import { contextView, localContext, sharedContext } from '../../src/tools/context.js'
import type { Context } from '../../src/tools/context.js'
import { archiveReader, callArgs, todoValue } from '../../src/tools/own/runtime.js'
import type { RuntimeState, TodoValue } from '../../src/tools/own/runtime.js'
import { changeContext } from './context.js'
import { presentFiles } from './files.js'
import type { CallRecorder } from './call-recorder.js'

const messageOptions = z.strictObject({ silent: z.boolean().optional() })
/** `presentFiles` says what is wrong with a path. */
const noticeOptions = z.strictObject({ attachments: z.custom<readonly string[]>().optional() })

/** A status is a line, not a report. */
const longestStatus = 500

/** Runs a tool within the call of another, on the same recorder. */
export type InvokeNested = (
  recorder: CallRecorder,
  caller: ToolDefinition,
  request: { readonly name: string; readonly args: unknown },
) => Promise<unknown>

export class CallState implements RuntimeState {
  readonly #tool: ToolDefinition
  readonly #recorder: CallRecorder
  readonly #invoke: InvokeNested

  constructor(tool: ToolDefinition, recorder: CallRecorder, invoke: InvokeNested) {
    this.#tool = tool
    this.#recorder = recorder
    this.#invoke = invoke
  }

  get threadId(): string {
    return this.#recorder.job.threadId
  }

  get idempotencyKey(): string {
    return this.#recorder.job.idempotencyKey
  }

  get signal(): AbortSignal {
    return this.#recorder.job.cancel.signal
  }

  get env(): ToolState['env'] {
    return async (name) => {
      const variable = this.#tool.variables?.find((declared) => declared.name === name)
      if (!variable)
        throw new SkeinError(
          'TOOL_NOT_ALLOWED',
          `${this.#tool.name} asked for the variable ${name}, which it does not declare; name it in \`variables\``,
        )
      const { env } = this.#recorder.job
      const value = Object.hasOwn(env, name) ? env[name] : variable.default
      if (value === undefined && variable.required === false) return ''
      if (value === undefined)
        throw new SkeinError('ENV_MISSING', `the variable ${name}, which ${this.#tool.name} declares, has no value`, {
          data: { name },
        })
      return value
    }
  }

  get files(): Files {
    return this.#recorder.files
  }

  get kv(): KeyValues {
    const { values } = this.#recorder
    // Keys are stored like values, so they are masked too, in the same way for writing and for reading.
    const keyOf = (key: string): string => `kv/${this.#recorder.text(String(key))}`
    return {
      get: (key) => values.read(keyOf(key)),
      set: async (key, value) => values.write(keyOf(key), value),
      delete: async (key) => values.write(keyOf(key), undefined),
      list: (prefix = '') => values.list(this.#recorder.text(String(prefix))),
    }
  }

  get local(): unknown {
    return this.#contextOf(localContext(this.#tool))
  }

  get setContext(): ToolState['setContext'] {
    return (part) => changeContext(this.#recorder.values, localContext(this.#tool), part)
  }

  get shared(): unknown {
    return this.#contextOf(sharedContext(this.#tool))
  }

  get setShared(): ToolState['setShared'] {
    return (part) => changeContext(this.#recorder.values, sharedContext(this.#tool), part)
  }

  #contextOf(context: Context): unknown {
    return contextView(context, (key) => this.#recorder.values.readNow(key))
  }

  get progress(): ToolState['progress'] {
    return (event) => this.#recorder.progress.progress(event)
  }

  get log(): ToolState['log'] {
    return (...values) => this.#recorder.progress.log(values)
  }

  get runCode(): RunCode {
    return this.#recorder.runCode
  }

  get invokeTool(): ToolState['invokeTool'] {
    return async (name, args) => {
      this.#checkUses(name)
      return this.#invoke(this.#recorder, this.#tool, { name, args })
    }
  }

  get queueTool(): ToolState['queueTool'] {
    return (name, args) => {
      this.#checkUses(name)
      const found = this.#recorder.find(name)
      // A tool that has to be loaded first is checked when it is called, as every tool is.
      this.#recorder.queue(name, found && 'args' in found ? validArgs(found, args) : toJson(args))
    }
  }

  get schedule(): ToolState['schedule'] {
    return (name, args, time) => {
      // A tool may schedule itself: that is how something is repeated.
      if (name !== this.#tool.name) this.#checkUses(name)
      const found = this.#recorder.find(name)
      return this.#recorder.schedules.add(name, found && 'args' in found ? validArgs(found, args) : toJson(args), time)
    }
  }

  get schedules(): ToolState['schedules'] {
    return () => this.#recorder.schedules.list()
  }

  get unschedule(): ToolState['unschedule'] {
    return (id) => this.#recorder.schedules.remove(id)
  }

  get queueMessage(): ToolState['queueMessage'] {
    return (text, options) => {
      if (typeof text !== 'string')
        throw new SkeinError('BAD_OPTION', `queueMessage was given a ${typeof text}; give it a text`)
      const { silent } = checkOptions(messageOptions, options ?? {}, 'queueMessage')
      this.#recorder.message(text, silent === true)
    }
  }

  get notifyParent(): ToolState['notifyParent'] {
    return async (text, options = {}) => {
      const { text: notice, recorder } = this.#toParent('notifyParent', text)
      const { attachments = [] } = checkOptions(noticeOptions, options, 'notifyParent')
      const paths = attachments.length > 0 ? await presentFiles(recorder.files, attachments) : []
      recorder.tellParent({ text: notice, ...(paths.length > 0 && { attachments: paths }) })
    }
  }

  get setStatus(): ToolState['setStatus'] {
    return (text) => {
      const { text: status, recorder } = this.#toParent('setStatus', text)
      // Masked before it is cut: half a secret would not be recognised.
      recorder.tellParent({ status: recorder.text(status).slice(0, longestStatus) })
    }
  }

  #toParent(member: string, text: unknown): { readonly text: string; readonly recorder: CallRecorder } {
    if (typeof text !== 'string')
      throw new SkeinError('BAD_OPTION', `${member} was given a ${typeof text}; give it a text`)
    if (!this.#recorder.job.hasParent)
      throw new SkeinError(
        'TOOL_NOT_ALLOWED',
        `${this.#tool.name} called ${member}, and thread ${this.threadId} has no parent to speak to: no other ` +
          `thread called it`,
      )
    return { text, recorder: this.#recorder }
  }

  /** The todo list is a value like those of `kv`, for the runtime's own tools. */
  get [todoValue](): TodoValue {
    const { values } = this.#recorder
    return { get: () => values.read('todo'), set: async (value) => values.write('todo', value) }
  }

  get [archiveReader](): (call: string) => Promise<string | undefined> {
    const recorder = this.#recorder
    return async (call) => {
      const entry = await recorder.values.read(`archive/${call}`)
      // An archived result comes as it is, from the journal.
      if (typeof entry === 'string') return entry
      return isObject(entry) && typeof entry['hash'] === 'string'
        ? new TextDecoder().decode(await recorder.content(entry['hash']))
        : undefined
    }
  }

  get [callArgs](): Json {
    return this.#recorder.job.args
  }

  #checkUses(name: string): void {
    const { uses = [], name: own } = this.#tool
    if (!uses.includes(name)) {
      throw new SkeinError(
        'TOOL_NOT_ALLOWED',
        `${own} may not use the tool ${name}; ` +
          `${uses.length > 0 ? `its \`uses\` names ${uses.join(', ')}` : 'it has no `uses`'}`,
      )
    }
  }
}

function validArgs(tool: ToolDefinition, args: unknown): Json {
  const checked = checkArgs(tool.name, tool.args, isObject(args) ? args : (args ?? {}))
  if (checked.ok) return checked.args
  const { code, message, data } = checked.failure
  throw new SkeinError(code, message, defined({ data }))
}
