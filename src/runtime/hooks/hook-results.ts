/**
 * What a hook may return, by its point. The type says it to the compiler; a hook is code of an app, and what it really
 * returns is checked here.
 */
import { z } from 'zod'
import type { HookPoint, HookResult } from '../../agent/define-hook.js'
import { SkeinError } from '../../core/failure.js'
import { lazy } from '../../core/schema.js'

type Results = { readonly [On in HookPoint]: z.ZodType<HookResult<On>> }

const results = lazy((): Results => {
  const text = z.string().optional()
  /** A reason that says nothing is none. */
  const reason = z.string().min(1).optional()
  /** What contains itself passes `z.json()`, and could be neither measured nor recorded. */
  const json = z.json().refine(isTree, 'it contains itself')
  const message = z.strictObject({
    text: z.string().min(1),
    role: z.enum(['user', 'system']).optional(),
    once: z.boolean().optional(),
  })
  const call = z.strictObject({ tool: z.string(), args: json })
  const approval = z.strictObject({
    prompt: z.string().optional(),
    defaults: json.optional(),
    deadline: z.strictObject({ afterMs: z.number().positive(), decision: z.enum(['approve', 'reject']) }).optional(),
  })
  const content = z.union([z.string(), z.instanceof(Uint8Array)])
  return {
    thread_created: z.strictObject({
      tags: z.array(z.string().min(1)).optional(),
      files: z.record(z.string(), content).optional(),
      values: z.record(z.string(), json).optional(),
      message: z.string().min(1).optional(),
      refuse: reason,
    }),
    subagent_created: z.strictObject({ text, refuse: reason }),
    message: z.strictObject({ text, refuse: reason }),
    before_step: z.strictObject({
      hide: z.array(z.string()).optional(),
      add: z.union([message, z.array(message)]).optional(),
      block: reason,
    }),
    after_step: z.strictObject({ text, calls: z.array(call).optional(), block: reason }),
    before_call: z.strictObject({
      args: json.optional(),
      refuse: reason,
      answer: json.optional(),
      approval: z.union([z.boolean(), approval]).optional(),
      block: reason,
    }),
    after_call: z.strictObject({
      result: json.optional(),
      error: reason,
      text,
      drop: z.boolean().optional(),
    }),
    stop: z.strictObject({ goOn: reason }),
  }
})

function isTree(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}

/** Undefined: the hook wants nothing. Throws where it returned what it may not. */
export function checkResult<On extends HookPoint>(on: On, returned: unknown): HookResult<On> | undefined {
  if (returned === undefined || returned === null) return undefined
  const { success, data, error } = results()[on].safeParse(returned)
  if (success) return data
  const [issue] = error.issues
  const where = issue?.path.join('.') ?? ''
  throw new SkeinError(
    'HOOK_FAILED',
    `it returned what a hook of the point ${on} may not: ${where === '' ? '' : `${where}: `}${issue?.message ?? ''}`,
  )
}
