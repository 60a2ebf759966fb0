/**
 * Whether a child may be started: when its call is recorded (depth, instances of one agent), and when its turn to be
 * called comes (children at once, S12). Budgets are asked after that (start.ts).
 *
 * - Calls wait in call order, also those that do not wait for an answer: a thread whose children are as many as
 *   may be is not asked for more before there is room, so nothing grows without bound.
 * - Only what will end is waited for. Where all children that live are idle, nothing would ever make room: the
 *   call is refused, and the refusal names them.
 */
import { failure } from '../../../src/core/failure.js'
import type { Failure } from '../../../src/core/failure.js'
import type { ChildCall } from '../../../src/core/records/record.js'
import type { ThreadState } from '../state.js'

export function tooDeep({ path }: ThreadState, maxDepth: number): Failure | undefined {
  if (path.length < maxDepth) return undefined
  return failure(
    'TOOL_NOT_ALLOWED',
    `agents may call agents ${maxDepth} deep, and this is as deep as it goes; do it yourself`,
  )
}

/** A child that lives, or waits for values before it does. */
export interface LiveChild extends Pick<ChildCall, 'thread' | 'agent' | 'reference'> {
  readonly waits?: true
}

interface Instances {
  readonly agent: string
  readonly maxInstances: number
  readonly blocking: boolean
}

type ExistingChild = Pick<ChildCall, 'thread' | 'agent' | 'reference'>

/**
 * Undefined: another instance of the agent may be created. Where one is allowed, and the call waits for its answer, the
 * call goes to the instance that there is (S3). `asked`: instances that the same reply asks for.
 */
export function admitInstance(
  { children, requests }: ThreadState,
  { agent: name, maxInstances, blocking }: Instances,
  asked: readonly LiveChild[] = [],
): { readonly only: ExistingChild } | { readonly refused: Failure } | undefined {
  const living = [...children].flatMap(([reference, { id, agent, ended }]): LiveChild[] =>
    agent === name && !ended ? [{ thread: id, agent, reference }] : [],
  )
  const deferred = Object.values(requests).flatMap(({ child: { thread, agent, reference } }): LiveChild[] =>
    agent === name ? [{ thread, agent, reference, waits: true }] : [],
  )
  const all = [...living, ...deferred, ...asked]
  const [only] = all
  if (all.length < maxInstances) return undefined
  if (maxInstances === 1 && blocking && only && !only.waits) {
    const { thread, agent, reference } = only
    return { only: { thread, agent, reference } }
  }
  const there = all.map(({ reference }) => reference).join(', ')
  return {
    refused: failure(
      'TOOL_NOT_ALLOWED',
      `there may be ${maxInstances} of ${name} at once, and there are: ${there}; ${adviceOn(all)}`,
    ),
  }
}

/** A child that waits for values cannot be spoken to. */
function adviceOn(all: readonly LiveChild[]): string {
  const waiting = all.flatMap(({ waits, reference }) => (waits ? [reference] : []))
  if (waiting.length === 0) return 'speak to one of them with subagent_message'
  const advice =
    `people were asked for the values of ${waiting.join(', ')}, which begins by itself when they have ` +
    `answered: do not ask for it again`
  return waiting.length === all.length ? advice : `${advice}; speak to one of the others with subagent_message`
}

/** How many children a refusal names. */
const maxNamed = 20

export function mayStartChild(
  { children, working, living }: ThreadState,
  { reference, create, maxParallel, maxChildren = Infinity }: ChildCall,
): 'call' | 'wait' | Failure {
  const known = children.get(reference)
  if (!create && (!known || known.ended))
    return failure(
      'TOOL_INPUT_INVALID',
      `${reference} takes no messages: ${known ? 'it has ended' : 'it was not created'}`,
    )
  // At work already: it takes no further place.
  if (known && known.busy > 0) return 'call'
  if (working >= maxParallel) return 'wait'
  if (!create || living < maxChildren) return 'call'
  if (working > 0) return 'wait'
  return failure(
    'TOOL_NOT_ALLOWED',
    `there may be ${maxChildren} children at once, and there are, none of them at work: ${namesOf(children)}; speak ` +
      `to one of them with subagent_message`,
  )
}

function namesOf(children: ThreadState['children']): string {
  const living = [...children].flatMap(([reference, { ended }]) => (ended ? [] : [reference]))
  const rest = living.length - maxNamed
  return rest > 0 ? `${living.slice(0, maxNamed).join(', ')} and ${rest} more` : living.join(', ')
}
