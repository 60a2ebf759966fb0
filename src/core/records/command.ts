/**
 * Commands: what anyone may ask of a thread. They travel through its durable mailbox and are checked with
 * zod where they arrive, because another process may have written them.
 *
 * - A command has an id given by its sender; the same id twice is one command with one answer.
 * - A command has an answer, given after its records are durable: accepted, or refused with a failure.
 * - What a child says to its parent is numbered; a number that was heard is not heard again, and one that came
 *   early waits.
 */
import { z } from 'zod'
import { isVariableName } from '../env.js'
import type { Failure } from '../failure.js'
import { isObject } from '../json.js'
import type { Json } from '../json.js'
import type { Landed } from './call.js'
import { messageRulesSchema } from './stop.js'
import { lazy } from '../schema.js'
import { traceSchema } from '../trace/trace.js'
import { isFrozenTree, isPlainPath } from '../tree.js'
import type { FrozenTree } from '../tree.js'

/** Commands are read from JSON text: whatever is there is JSON. */
const json = z.custom<Json>((value) => value !== undefined)
/** What is not plain would stand in a tree where nobody finds it again. */
const path = z
  .string()
  .refine(isPlainPath, 'is no path: give an absolute one without . and .., and without empty or too long names')
const tree = z.custom<FrozenTree>(isFrozenTree, 'is no tree of files')

const hash = z.string().regex(/^[0-9a-f]{64}$/)
const count = z.number().int().min(0)

const fileChange = lazy(() =>
  z.discriminatedUnion('op', [
    z.strictObject({
      op: z.literal('file'),
      path,
      hash,
      size: z.number().int().min(0),
      mode: z.number().int().exactOptional(),
    }),
    z.strictObject({ op: z.literal('dir'), path, mode: z.number().int().exactOptional() }),
    z.strictObject({ op: z.literal('link'), path, target: z.string() }),
    z.strictObject({ op: z.literal('mode'), path, mode: z.number().int() }),
    z.strictObject({ op: z.literal('gone'), path }),
  ]),
)

const scheduleChange = lazy(() =>
  z.discriminatedUnion('op', [
    z.strictObject({
      op: z.literal('add'),
      id: z.string().min(1),
      tool: z.string(),
      args: json,
      at: z.number().int(),
    }),
    z.strictObject({ op: z.literal('remove'), id: z.string() }),
  ]),
)

/** Most commands could bring some and bring none: zod asks for the fields when the first one does. */
const changes = lazy(() =>
  z.strictObject({
    get files() {
      return z.array(fileChange()).exactOptional()
    },
    get values() {
      return z.array(z.strictObject({ key: z.string(), value: json.exactOptional() })).exactOptional()
    },
    get schedules() {
      return z.array(scheduleChange()).exactOptional()
    },
  }),
)

const whole = z.number().int().exactOptional()
const amounts = lazy(() => z.strictObject({ tokens: whole, nanoUsd: whole, toolCalls: whole, steps: whole }))

const said = lazy(() => ({
  text: z.string(),
  role: z.enum(['user', 'system', 'assistant']),
  delivery: z.enum(['steer', 'new_turn', 'store']),
  silent: z.literal(true).optional(),
  replyTo: z
    .strictObject({ thread: z.string(), call: z.string().exactOptional(), quiet: z.literal(true).exactOptional() })
    .optional(),
  attachments: tree.optional(),
  /** Attachments in order: paths of the thread's own files, and names in `attachments`. */
  listed: z.array(z.string().min(1)).optional(),
  grant: amounts().optional(),
  /** When the turn that reads it stops. */
  rules: messageRulesSchema.optional(),
  /** The trace that its sender is in. */
  trace: traceSchema.optional(),
}))

/** By the name of a tool, or `shared`. A caller gives fields to set; its host makes whole contexts of them. */
const context = lazy(() => z.record(z.string(), json).optional())

const yes = z.literal(true).exactOptional()
const gives = lazy(() => z.strictObject({ text: yes, calls: yes, errors: yes, output: yes }))

const variable = z.string().refine(isVariableName, 'is no name of a variable')
const sealed = z.record(variable, z.string())
const keys = z.array(z.string())

/** The past that a fork begins with, as its record has it. */
const based = lazy(() =>
  z.strictObject({
    get from() {
      return z.strictObject({ thread: z.string(), root: z.string(), seq: count, chain: z.string(), position: count })
    },
    get past() {
      return z.union([
        z.strictObject({ parts: z.array(z.strictObject({ hash, size: count })) }),
        z.strictObject({
          entries: z.array(z.strictObject({ first: count, count, body: z.string(), hash: z.string() })),
        }),
      ])
    },
    blobs: z.array(hash),
    roots: z.array(z.string()),
    drops: z.array(z.enum(['schedules', 'env'])).exactOptional(),
    tree: z.strictObject({ root: z.string(), top: z.string() }).exactOptional(),
    copying: z.strictObject({ go: yes }).exactOptional(),
    /** Of its variables. */
    keys: z.array(z.string()),
    /** Why it does not go on by itself. */
    paused: z.string().exactOptional(),
  }),
)

const create = lazy(() =>
  z.strictObject({
    kind: z.literal('create'),
    agent: z.string().min(1),
    tags: z.array(z.string().min(1)),
    parent: z.string().optional(),
    path: z.array(z.string()).min(1),
    changes: changes().optional(),
    budget: amounts().optional(),
    child: z
      .strictObject({
        reference: z.string(),
        lasting: z.boolean(),
        forked: z.literal(true).exactOptional(),
        gives: gives().exactOptional(),
        reports: z.literal('implicit').exactOptional(),
        caller: z.string().exactOptional(),
      })
      .optional(),
    tree: tree.optional(),
    /** What it is told first: a child is made and spoken to by one mail. */
    message: z.strictObject(said()).optional(),
    env: z
      .strictObject({ keys, own: sealed, inherited: sealed, roots: z.array(z.string()).exactOptional() })
      .optional(),
    context: context(),
    /** What happens to its calls with a side effect, in a fork and below one. */
    guard: z.enum(['ask', 'refuse']).optional(),
    based: based().optional(),
  }),
)

const message = lazy(() => z.strictObject({ kind: z.literal('message'), ...said(), context: context() }))

const reason = z.string().optional()
/** `tree`: and all below. `inherited`: a parent passes it on. */
const set = z.literal(true).optional()

/** A failure of another version may have a code that this one does not know: it is passed on as it is. */
const failed = z.custom<Failure>(
  (value) => typeof value === 'object' && value !== null && 'code' in value && 'message' in value,
)
const outcome = lazy(() =>
  z.discriminatedUnion('ok', [
    z.strictObject({
      ok: z.literal(true),
      value: json,
      whole: z.strictObject({ hash: z.string(), size: z.number() }).exactOptional(),
    }),
    z.strictObject({ ok: z.literal(false), failure: failed }),
  ]),
)

/** Written by a host, as its record would have been. */
const landed = lazy(() =>
  z.custom<Landed>((value) => outcome().safeParse((value as Partial<Landed> | null)?.outcome).success),
)

const amount = z.number().min(0)
const used = lazy(() =>
  z.strictObject({
    model: z.string(),
    inputTokens: amount,
    outputTokens: amount,
    costUsd: amount,
    cachedInputTokens: amount.exactOptional(),
    cacheWriteTokens: amount.exactOptional(),
    reasoningTokens: amount.exactOptional(),
  }),
)
const spent = lazy(() =>
  z.strictObject({
    byModel: z.array(used()).readonly(),
    amounts: amounts().exactOptional(),
    returned: amounts().exactOptional(),
    effects: whole,
  }),
)
const word = lazy(() =>
  z.union([
    z.strictObject({ text: z.string(), attachments: tree.exactOptional() }),
    z.strictObject({ status: z.string() }),
  ]),
)

/** Of a child that failed for good. */
const settled = lazy(() => z.strictObject({ kind: z.enum(['requeue', 'drop']), reference: z.string() }))

/** By kind: a process makes the schemas of those that it reads. */
const kinds = {
  create,
  message,
  /** Without a text it is taken out. */
  edit: lazy(() =>
    z.strictObject({ kind: z.literal('edit'), message: z.string().min(1), text: z.string().exactOptional() }),
  ),
  /** `messages`: only what these have asked for, as their sender takes them back. */
  cancel: lazy(() =>
    z.strictObject({ kind: z.literal('cancel'), reason, messages: z.array(z.string()).exactOptional() }),
  ),
  pause: lazy(() => z.strictObject({ kind: z.literal('pause'), reason, tree: set, inherited: set })),
  resume: lazy(() => z.strictObject({ kind: z.literal('resume'), tree: set, inherited: set })),
  terminate: lazy(() => z.strictObject({ kind: z.literal('terminate'), reason, inherited: set })),
  /** `seen`: the last record that its sender knew. `reverts`: calls whose effects are undone first, in this order. */
  rewind: lazy(() =>
    z.strictObject({
      kind: z.literal('rewind'),
      to: count.min(1),
      seen: count,
      reverts: z.array(z.strictObject({ step: count, index: count })).exactOptional(),
      forced: yes,
    }),
  ),
  /** Of a root: it goes with its whole tree. `createdAt`: the thread that is meant, if its id is used again. */
  delete: lazy(() =>
    z.strictObject({ kind: z.literal('delete'), terminate: set, createdAt: z.number().exactOptional() }),
  ),
  decide: lazy(() =>
    z.strictObject({
      kind: z.literal('decide'),
      call: z.string(),
      decision: z.enum(['approve', 'reject']),
      args: json.optional(),
      comment: z.string().optional(),
      by: z.string().optional(),
    }),
  ),
  answer: lazy(() =>
    z.strictObject({ kind: z.literal('answer'), call: z.string(), output: json, by: z.string().optional() }),
  ),
  /** Of a call whose effect is unknown: what a person found out. */
  resolve: lazy(() =>
    z.strictObject({
      kind: z.literal('resolve'),
      call: z.string(),
      happened: z.boolean(),
      value: json.exactOptional(),
      comment: z.string().exactOptional(),
      by: z.string().exactOptional(),
    }),
  ),
  call: lazy(() => z.strictObject({ kind: z.literal('call'), tool: z.string(), args: json })),
  /** Refused when what was read has changed since. */
  change: lazy(() =>
    z.strictObject({
      kind: z.literal('change'),
      changes: changes(),
      reads: z
        .array(
          z.strictObject({ path, look: z.enum(['kind', 'slot', 'room', 'node', 'list', 'deep']), token: z.string() }),
        )
        .optional(),
    }),
  ),
  /**
   * More to spend. `child`: for this one, out of what the thread has itself. `from`: its parent, which has reserved it.
   */
  grant: lazy(() =>
    z.strictObject({
      kind: z.literal('grant'),
      amounts: amounts(),
      child: z.string().exactOptional(),
      from: z.string().exactOptional(),
      resume: yes,
      by: z.string().exactOptional(),
    }),
  ),
  /** For a child that was deferred. */
  provide: lazy(() => z.strictObject({ kind: z.literal('provide'), request: z.string(), keys, set: sealed })),
  /** Values arrive sealed; null takes one away. `inherited`: from its parent. */
  env: lazy(() =>
    z.strictObject({
      kind: z.literal('env'),
      level: z.enum(['own', 'inherited']),
      keys,
      set: z.record(variable, z.string().nullable()),
    }),
  ),
  /**
   * From a child to its parent; numbered from 1, so that each is taken once, in order, and nothing but the last
   * number is kept.
   */
  report: lazy(() =>
    z.strictObject({
      kind: z.literal('report'),
      child: z.string(),
      reference: z.string(),
      outcome: outcome(),
      call: z.string().exactOptional(),
      over: z.literal(true).exactOptional(),
      tree: tree.exactOptional(),
      quiet: z.literal(true).exactOptional(),
      attachments: z.strictObject({ files: tree, paths: z.array(z.string()) }).exactOptional(),
      note: z.string().exactOptional(),
      unasked: z.literal(true).exactOptional(),
      began: z
        .strictObject({
          by: z.enum(['message', 'report', 'schedule', 'call', 'resume']),
          of: z.string().exactOptional(),
        })
        .exactOptional(),
      failed: z.literal(true).exactOptional(),
      number: z.number().int().positive().exactOptional(),
      spent: spent().exactOptional(),
    }),
  ),
  /** What came of a call with a side effect, from a host that had its thread when the body began and has it no more. */
  receipt: lazy(() =>
    z.strictObject({
      kind: z.literal('receipt'),
      step: z.number().int(),
      index: z.number().int().min(0),
      key: z.string(),
      landed: landed(),
    }),
  ),
  requeue: settled,
  drop: settled,
  tell: lazy(() =>
    z.strictObject({
      kind: z.literal('tell'),
      child: z.string(),
      reference: z.string(),
      words: z.array(word()),
      number: z.number().int().positive(),
    }),
  ),
}

export type Command = z.infer<ReturnType<(typeof kinds)[keyof typeof kinds]>>

const isKind = (kind: unknown): kind is keyof typeof kinds => typeof kind === 'string' && Object.hasOwn(kinds, kind)

/** The command; undefined if it is none. */
export function parseCommand(value: Json): Command | undefined {
  const kind = isObject(value) ? value['kind'] : undefined
  return isKind(kind) ? kinds[kind]().safeParse(value).data : undefined
}

/** Every kind, for whoever says why something is no command. */
export const commandSchema = lazy(() => {
  const { create: first, ...others } = kinds
  return z.discriminatedUnion('kind', [first(), ...[...new Set(Object.values(others))].map((make) => make())])
})

export type Answer =
  | {
      readonly ok: true
      /** Last record of the thread that this command caused, or that was there when it changed nothing. */
      readonly seq: number
      /** The turn that the command started, joined or ended. */
      readonly run?: string
      /** The record that began it, where another command did. */
      readonly began?: number
    }
  | { readonly ok: false; readonly failure: Failure }
