/**
 * Definitions of hooks (K1): functions of an app that are asked at eight points of a thread's life, and what each gets
 * and may return. The point (`on`) decides both types.
 *
 * - A hook changes nothing by itself: what it wants to change it returns. Undefined: nothing.
 * - `refuse` answers one message, call or child, and the turn goes on; `block` ends the turn.
 */
import { defined } from '../core/defined.js'
import type { Outcome } from '../core/effect.js'
import type { Json } from '../core/json.js'
import type { Message } from '../core/records/message.js'
import type { FinishReason, StopReason } from '../core/records/record.js'
import type { InputOf, Schema } from '../core/schema.js'
import type { Usage } from '../core/usage.js'
import type { Files } from '../files/port.js'
import { namesOfDefinitions } from './naming.js'
import type { NameOf, Named } from './naming.js'

/** The thread's files, to be read. */
export type HookFiles = Pick<
  Files,
  | 'readFile'
  | 'readStream'
  | 'stat'
  | 'lstat'
  | 'exists'
  | 'readdir'
  | 'readlink'
  | 'realpath'
  | 'grep'
  | 'find'
  | 'usage'
>

/** The thread that a hook is asked about. It cannot be changed through this. */
export interface HookThread {
  readonly id: string
  readonly agent: string
  /** Ids from the root down to the thread. */
  readonly path: readonly string[]
  readonly tags: readonly string[]
  /** The turn; absent between turns. */
  readonly run?: string
  /** The last step that has begun. */
  readonly step: number
  /** The same whenever this hook is asked this question again, after a crash too: for what it tells the world. */
  readonly key: string
  /** Aborted when the answer is not needed any more, or comes too late. */
  readonly signal: AbortSignal
  readonly files: HookFiles
  /** The thread's key-value store, to be read. */
  readonly kv: {
    get(key: string): Promise<Json | undefined>
    /** In the order of keys: all entries, or those whose key begins with `prefix`. */
    list(prefix?: string): Promise<readonly { readonly key: string; readonly value: Json }[]>
  }
}

/** A call as a model asks for it. */
interface AskedCall {
  readonly tool: string
  readonly args: Json
}

/** A message that the model reads. */
interface HookMessage {
  readonly text: string
  /** Default `user`. */
  readonly role?: 'user' | 'system' | undefined
  /** Only the next request has it; otherwise it stays in the thread. */
  readonly once?: boolean | undefined
}

interface Approval {
  readonly prompt?: string | undefined
  /** Passed to the approver, for instance to fill in a form. */
  readonly defaults?: Json | undefined
  /** The decision when nobody decides in time. */
  readonly deadline?: { readonly afterMs: number; readonly decision: 'approve' | 'reject' } | undefined
}

/** What a hook gets (`input`) and may return (`result`), by its point. `Args`: of the tools that it names. */
interface HookPoints<Args> {
  readonly thread_created: {
    readonly input: {
      readonly agent: string
      readonly tags: readonly string[]
      /** The thread whose child it is. */
      readonly parent?: string
      /** Its first message, where it is created with one. */
      readonly text?: string
    }
    readonly result: {
      /** Added to those it has. */
      readonly tags?: readonly string[] | undefined
      /** Contents by path. */
      readonly files?: Readonly<Record<string, string | Uint8Array>> | undefined
      /** Values of its key-value store, by key. */
      readonly values?: Readonly<Record<string, Json>> | undefined
      /** A message that its model reads with the first one. */
      readonly message?: string | undefined
      readonly refuse?: string | undefined
    }
  }
  readonly subagent_created: {
    readonly input: {
      readonly agent: string
      /** What its parent's model calls it. */
      readonly reference: string
      readonly name?: string
      /** The message that it begins with. */
      readonly text: string
    }
    readonly result: { readonly text?: string | undefined; readonly refuse?: string | undefined }
  }
  readonly message: {
    readonly input: {
      readonly text: string
      readonly role: 'user' | 'system' | 'assistant'
      readonly delivery: 'steer' | 'new_turn' | 'store'
      /** Whether another thread sent it. */
      readonly from: 'caller' | 'thread'
    }
    readonly result: { readonly text?: string | undefined; readonly refuse?: string | undefined }
  }
  readonly before_step: {
    readonly input: {
      /** Steps of the turn before this one. */
      readonly steps: number
      /** Of the turn. */
      readonly usage: Usage
      /** What the model would read now. */
      messages(): Promise<readonly Message[]>
    }
    readonly result: {
      /** Ids of messages that no model reads from now on. */
      readonly hide?: readonly string[] | undefined
      readonly add?: HookMessage | readonly HookMessage[] | undefined
      readonly block?: string | undefined
    }
  }
  readonly after_step: {
    readonly input: {
      readonly text: string
      readonly reasoning?: string
      readonly calls: readonly AskedCall[]
      readonly model: string
      readonly finish: FinishReason
      readonly usage: Usage
    }
    readonly result: {
      readonly text?: string | undefined
      /** In place of its calls. */
      readonly calls?: readonly AskedCall[] | undefined
      readonly block?: string | undefined
    }
  }
  readonly before_call: {
    readonly input: {
      readonly tool: string
      /** They fit the schema of the tool. */
      readonly args: Args
      readonly by: 'model' | 'caller' | 'schedule' | 'tool'
    }
    readonly result: {
      /** In place of its args; checked like those of a model. */
      readonly args?: Json | undefined
      readonly refuse?: string | undefined
      /** The result: nothing is run. */
      readonly answer?: Json | undefined
      /** A person must approve the call first. */
      readonly approval?: boolean | Approval | undefined
      /** Nothing of the reply is run, and the turn ends. Of a call that no model asks for: as `refuse`. */
      readonly block?: string | undefined
    }
  }
  readonly after_call: {
    readonly input: {
      readonly tool: string
      readonly args: Args
      /** `call_<step>_<index>` */
      readonly call: string
      /** The whole of it, however long. */
      readonly outcome: Outcome
      /** What the model would read, where that is not the outcome. */
      readonly text?: string
    }
    readonly result: {
      /** In place of the result. */
      readonly result?: Json | undefined
      /** The call has failed: what the model reads. */
      readonly error?: string | undefined
      /** What the model reads; the result itself stays. */
      readonly text?: string | undefined
      /** The model reads that the result was dropped. */
      readonly drop?: boolean | undefined
    }
  }
  readonly stop: {
    readonly input: {
      readonly reason: StopReason
      readonly detail?: string
      /** The last text of the model. */
      readonly text: string
      readonly output?: Json
      /** False at a limit, and after eight times in one turn. */
      readonly mayGoOn: boolean
    }
    readonly result: {
      /** The turn goes on: what the model is told. */
      readonly goOn?: string | undefined
    }
  }
}

export type HookPoint = keyof HookPoints<Json>
export type HookInput<On extends HookPoint, Args = Json> = HookPoints<Args>[On]['input']
export type HookResult<On extends HookPoint> = HookPoints<Json>[On]['result']

type Maybe<Value> = Value | undefined | void
type Answer<On extends HookPoint> = Maybe<HookResult<On>> | Promise<Maybe<HookResult<On>>>

interface HookFields<On extends HookPoint> {
  /** May be left out in a file of a folder app, which names its definition. */
  readonly name?: string
  readonly on: On
  /** How long it may take. Default 10,000. */
  readonly timeoutMs?: number
  /**
   * When it throws, is late or returns what it may not: `go_on` (default) with what it was given; `block`: as if it had
   * blocked, or refused where it cannot block. Not for `stop`.
   */
  readonly onError?: 'go_on' | 'block'
  /**
   * Of `after_step`. Default `at_once`: watchers are shown the text as it comes, and told if it changes. `after`: they
   * are shown it when the hook has decided.
   */
  readonly show?: 'at_once' | 'after'
}

/** A tool as a hook names it: its args are typed by the definition. */
type ToolLike = Named<'tool'> & { readonly args: Schema }
/** What a model may call, by its name. */
type CalledName = NameOf<'tool' | 'prompt' | 'agent'>
type ArgsOf<Tool> = Tool extends ToolLike ? InputOf<Tool['args']> : { readonly [name: string]: Json }

/** The parameter of `defineHook`. */
export interface Hook<On extends HookPoint, Tool extends CalledName | ToolLike> extends HookFields<On> {
  /** Of `before_call` and `after_call`: the tools, agents and prompts whose calls it is asked about. Default: all. */
  readonly tools?: readonly Tool[]
  run(input: HookInput<On, ArgsOf<Tool>>, thread: HookThread): Answer<On>
}

/** A hook of one point. */
export interface HookOf<On extends HookPoint> extends HookFields<On> {
  readonly kind: 'hook'
  readonly name: string
  readonly tools?: readonly string[]
  run(input: HookInput<On>, thread: HookThread): Answer<On>
}

export type HookDefinition = { readonly [On in HookPoint]: HookOf<On> }[HookPoint]

export function defineHook<On extends HookPoint, Tool extends CalledName | ToolLike = CalledName>(
  hook: Hook<On, Tool>,
): HookOf<On>
export function defineHook<On extends HookPoint>({ tools, ...hook }: Hook<On, CalledName | ToolLike>): object {
  return { kind: 'hook', name: '', ...hook, ...defined({ tools: tools && namesOfDefinitions<never>(tools) }) }
}
