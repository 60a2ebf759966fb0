/**
 * `state`: what a tool's body may use, over the worksheet of its call. A tool that is invoked by another has a state
 * of its own on the same worksheet: other variables and another context, the same files and values.
 *
 * - A body reaches only what its own definition declares: its variables, its contexts, the tools in `uses`.
 * - Members may be taken out of the state (`({ kv, log }) => …`), and cost nothing until they are.
 */
import type { KeyValues, ToolDefinition, ToolState } from '../../src/agent/define.js'
import { SkeinError } from '../../src/core/failure.js'
import { isObject, toJson } from '../../src/core/json.js'
import type { Json } from '../../src/core/json.js'
import type { Files } from '../../src/files/port.js'
import { checkArgs } from '../../src/tools/args.js'
import type { RunCode } from '../../src/tools/code.js'
import { archiveReader, callArgs, todoValue } from '../../src/tools/own/runtime.js'
import type { RuntimeState, TodoValue } from '../../src/tools/own/runtime.js'
import { mergedContext, contextView } from './context.js'
import { presentFiles } from './present-files.js'
import type { Context } from './context.js'
import type { CallRecorder } from './worksheet.js'

/** A status is a line, not a report. */
const longestStatus = 500

/** Runs a tool on the worksheet of the call that asks for it. */
export type InvokeNested = (
  sheet: CallRecorder,
  caller: ToolDefinition,
  asked: { readonly name: string; readonly args: unknown },
) => Promise<unknown>

export class CallState implements RuntimeState {
  readonly #tool: ToolDefinition
  readonly #sheet: CallRecorder
  readonly #invoke: InvokeNested

  constructor(tool: ToolDefinition, sheet: CallRecorder, invoke: InvokeNested) {
    this.#tool = tool
    this.#sheet = sheet
    this.#invoke = invoke
  }

  get threadId(): string {
    return this.#sheet.job.threadId
  }

  get idempotencyKey(): string {
    return this.#sheet.job.idempotencyKey
  }

  get signal(): AbortSignal {
    return this.#sheet.job.cancel.signal
  }

  get env(): ToolState['env'] {
    return async (name) => {
      const variable = this.#tool.variables?.find((declared) => declared.name === name)
      if (!variable)
        throw new SkeinError(
          'TOOL_NOT_ALLOWED',
          `${this.#tool.name} asked for the variable ${name}, which it does not declare; name it in \`variables\``,
        )
      const { env } = this.#sheet.job
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
    return this.#sheet.files
  }

  get kv(): KeyValues {
    const { values } = this.#sheet
    // A key is told and kept as a value is. The same key is masked the same way for writing and for reading.
    const at = (key: string): string => `kv/${this.#sheet.text(String(key))}`
    return {
      get: (key) => values.read(at(key)),
      set: async (key, value) => values.write(at(key), value),
      delete: async (key) => values.write(at(key), undefined),
      list: (prefix = '') => values.list(this.#sheet.text(String(prefix))),
    }
  }

  get #context(): Context {
    return {
      tool: this.#tool.name,
      field: 'contextSchema',
      key: `context/${this.#tool.name}`,
      schema: this.#tool.contextSchema,
    }
  }

  get #sharedContext(): Context {
    return { tool: this.#tool.name, field: 'sharedSchema', key: 'shared', schema: this.#tool.sharedSchema }
  }

  get local(): unknown {
    return contextView(this.#sheet.values, this.#context)
  }

  get setContext(): ToolState['setContext'] {
    return (part) => mergedContext(this.#sheet.values, this.#context, part)
  }

  get shared(): unknown {
    return contextView(this.#sheet.values, this.#sharedContext)
  }

  get setShared(): ToolState['setShared'] {
    return (part) => mergedContext(this.#sheet.values, this.#sharedContext, part)
  }

  get progress(): ToolState['progress'] {
    return (event) => this.#sheet.voice.progress(event)
  }

  get log(): ToolState['log'] {
    return (...what) => this.#sheet.voice.log(what)
  }

  get runCode(): RunCode {
    return this.#sheet.runCode
  }

  get invokeTool(): ToolState['invokeTool'] {
    return async (name, args) => {
      this.#checkUses(name)
      return this.#invoke(this.#sheet, this.#tool, { name, args })
    }
  }

  get queueTool(): ToolState['queueTool'] {
    return (name, args) => {
      this.#checkUses(name)
      const found = this.#sheet.find(name)
      // What has to be loaded first is checked when it is called, like everything.
      this.#sheet.queue(name, found && 'args' in found ? checked(found, args) : toJson(args))
    }
  }

  get schedule(): ToolState['schedule'] {
    return (name, args, time) => {
      // Itself too: that is how something is done again and again.
      if (name !== this.#tool.name) this.#checkUses(name)
      const found = this.#sheet.find(name)
      return this.#sheet.schedules.add(name, found && 'args' in found ? checked(found, args) : toJson(args), time)
    }
  }

  get schedules(): ToolState['schedules'] {
    return () => this.#sheet.schedules.list()
  }

  get unschedule(): ToolState['unschedule'] {
    return (id) => this.#sheet.schedules.remove(id)
  }

  get queueMessage(): ToolState['queueMessage'] {
    return (text, options) => {
      if (typeof text !== 'string')
        throw new SkeinError('BAD_OPTION', `queueMessage was given a ${typeof text}; give it a text`)
      this.#sheet.message(text, options?.silent === true)
    }
  }

  get notifyParent(): ToolState['notifyParent'] {
    return async (text, { attachments = [] } = {}) => {
      const { text: said, sheet } = this.#toParent('notifyParent', text)
      const paths = attachments.length > 0 ? await presentFiles(sheet.files, attachments) : []
      sheet.tell({ text: said, ...(paths.length > 0 && { attachments: paths }) })
    }
  }

  get setStatus(): ToolState['setStatus'] {
    return (text) => {
      const { text: status, sheet } = this.#toParent('setStatus', text)
      // Masked before it is cut: half a secret is not recognised.
      sheet.tell({ status: sheet.text(status).slice(0, longestStatus) })
    }
  }

  #toParent(member: string, text: unknown): { readonly text: string; readonly sheet: CallRecorder } {
    if (typeof text !== 'string')
      throw new SkeinError('BAD_OPTION', `${member} was given a ${typeof text}; give it a text`)
    if (!this.#sheet.job.hasParent)
      throw new SkeinError(
        'TOOL_NOT_ALLOWED',
        `${this.#tool.name} called ${member}, and thread ${this.threadId} has no parent to speak to: no other ` +
          `thread called it`,
      )
    return { text, sheet: this.#sheet }
  }

  /** The todo list is a value like those of `kv`, for the runtime's own tools. */
  get [todoValue](): TodoValue {
    const { values } = this.#sheet
    return { get: () => values.read('todo'), set: async (value) => values.write('todo', value) }
  }

  get [archiveReader](): (call: string) => Promise<string | undefined> {
    const sheet = this.#sheet
    return async (call) => {
      const kept = await sheet.values.read(`archive/${call}`)
      return isObject(kept) && typeof kept['hash'] === 'string'
        ? new TextDecoder().decode(await sheet.stored(kept['hash']))
        : undefined
    }
  }

  get [callArgs](): Json {
    return this.#sheet.job.args
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

function checked(tool: ToolDefinition, args: unknown): Json {
  const found = checkArgs(tool.name, tool.args, isObject(args) ? args : (args ?? {}))
  if (!found.ok)
    throw new SkeinError(found.failure.code, found.failure.message, {
      ...(found.failure.data && { data: found.failure.data }),
    })
  return found.args
}
