/**
 * Raising the budget of a thread from outside: checks the amounts and sends the grant to the thread that can give it.
 */
import { z } from 'zod'
import { budgetSchema, isNothing, toAmounts } from '../../core/budget.js'
import type { Budget } from '../../core/budget.js'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import type { GrantOptions } from './options.js'
import { sendCommand } from './send-command.js'
import type { ThreadServices } from './services.js'
import type { StateWaker } from '../journal/wake.js'
import { lazy } from '../../core/schema.js'

interface GrantRequest extends GrantOptions {
  readonly amounts: Budget
}

interface Grantee {
  readonly id: string
  readonly parent: string | undefined
  readonly waker: StateWaker
}

const schema = lazy(() =>
  z.strictObject({ amounts: budgetSchema, resume: z.boolean().optional(), by: z.string().optional() }),
)

/** A root is granted it directly; of a child, its parent reserves the amount first. */
export async function grantTo(
  { backend, clock, random }: ThreadServices,
  { id, parent, waker }: Grantee,
  request: GrantRequest,
): Promise<void> {
  const checked = schema().safeParse(request)
  if (!checked.success) {
    const issues = checked.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
    throw new SkeinError('BAD_OPTION', `grant: ${issues.join('; ')}`)
  }
  const amounts = toAmounts(checked.data.amounts)
  if (isNothing(amounts)) {
    throw new SkeinError(
      'BAD_OPTION',
      'grant: name how much more it may spend, as { tokens: 10_000 } or { costUsd: 1 }',
    )
  }
  const { resume, by } = checked.data
  const grant = { kind: 'grant', amounts, ...(resume && { resume: true as const }), ...defined({ by }) } as const
  if (parent === undefined) {
    await sendCommand(backend, clock, { thread: id, id: random.id(), command: grant })
    return
  }
  const rests = await waker.look(({ turn, queue, lastTurn }) => {
    const goesOn = resume === true && lastTurn?.reason === 'budget_spent'
    return !turn && queue.length === 0 && !goesOn
  })
  // A child that rests keeps nothing: it would give it back at once.
  if (rests) {
    const advice = 'Speak to it; one that has stopped because nothing was left goes on with resume: true'
    const why = `thread ${id} is a child and rests: it has a budget for each message, and would give this back`
    throw new SkeinError('COMMAND_REFUSED', `${why}. ${advice}`)
  }
  await sendCommand(backend, clock, { thread: parent, id: random.id(), command: { ...grant, child: id } })
}
