/**
 * Effects that cannot be repeated, one tool for each way out: the model is told, a probe finds out, a person decides,
 * or it is done again. Whoever is told that it was done can find it in the ledger.
 */
import assert from 'node:assert/strict'
import { z } from 'zod'
import { defineTool } from '../../../src/agent/define.js'
import type { ToolDefinition } from '../../../src/agent/define.js'
import type { World } from '../../../src/sim/world.js'
import { simulatedApp } from '../simulated-app.js'
import { lastSaid, resultsOf, team } from '../team.js'

const ways = ['tell', 'probe', 'ask', 'retry'] as const
type Way = (typeof ways)[number]
const clerks = ['ann', 'ben'] as const

/** The post takes no keys: what is asked twice is done twice. */
function tool(way: Way, world: World<'post'>): ToolDefinition {
  const isSent = (key: string): boolean => timesSent(world, key) > 0
  return defineTool({
    name: way,
    description: `Sends a letter; ${way}`,
    args: z.object({ to: z.string() }),
    sideEffect: true,
    timeoutMs: 2_000,
    ...(way === 'probe'
      ? { probe: ({ idempotencyKey }: { idempotencyKey: string }) => (isSent(idempotencyKey) ? 'found' : null) }
      : { onUnknown: way }),
    execute: async ({ idempotencyKey: key }, { to }) => {
      await world.post({ key, way, to })
      return 'sent'
    },
  })
}

function timesSent(world: World<'post'>, key: string): number {
  return world.ledger('post').entries.filter(({ request }) => sentBy(request).key === key).length
}

const letter = z.object({ key: z.string(), way: z.enum(ways), to: z.string() })
const sentBy = (request: unknown): z.infer<typeof letter> => letter.parse(request)

const app = (world: World<'post'>) =>
  team(
    {
      lead: {
        script: ({ messages, step }) =>
          step > 0
            ? resultsOf(messages).join('; ')
            : { calls: clerks.map((message) => ({ tool: 'clerk', args: { message } })) },
        tools: [{ name: 'clerk' }],
      },
      clerk: {
        script: ({ messages, step }) => {
          const to = lastSaid(messages)
          if (step === 0) return { calls: ways.map((way) => ({ tool: way, args: { to } })) }
          return resultsOf(messages)
            .map((text, index) => `${ways[index] ?? ''} ${to} ${said(text)}`)
            .join(', ')
        },
        tools: [...ways],
      },
    },
    ways.map((way) => tool(way, world)),
  )

const ends: ReadonlySet<string> = new Set(['unknown', 'late'])

function said(result: string): string {
  if (result.includes('sent') || result.includes('found')) return 'done'
  if (result.includes('EFFECT_UNKNOWN')) return 'unknown'
  // A host that was stopped while its body ran: the body's time was over when it woke.
  return result.includes('TOOL_TIMED_OUT') ? 'late' : result
}

export const unknown = simulatedApp('unknown', {
  app,
  services: { post: { latencyMs: [5, 500] } },
  // A lost lease counts as a death, too: with two crashes and a cut one call may meet three of them.
  skein: { limits: { maxHostDeaths: 10 } },
  scenario: async ({ skein, world }) => {
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    let text: string | undefined
    lead
      .send('go', { id: 'm' })
      .text()
      .then((answer) => (text = answer))
    while (text === undefined) {
      for (const { id, args } of await skein.inbox.list({ root: 'lead' }))
        // Ann's may be sent again, Ben's may not. This person may have decided already, before a host died.
        await (JSON.stringify(args).includes('ann') ? skein.inbox.approve(id) : skein.inbox.reject(id)).catch(
          () => undefined,
        )
      await world.sleep(300)
    }
    return text
  },
  check: ({ result, quiet, world }) => {
    const lines = result.split(/[;,] /)
    assert.equal(lines.length, quiet.split(/[;,] /).length)
    const letters = world.ledger('post').entries.map(({ request }) => sentBy(request))
    for (const line of lines) {
      const [way, to, outcome] = line.split(' ')
      const times = letters.filter((each) => each.way === way && each.to === to).length
      const isRepeated = way === 'retry' || way === 'ask'
      assert.ok(outcome === 'done' ? times > 0 : ends.has(outcome ?? ''), `${line}: sent ${times} times`)
      assert.ok(isRepeated || times <= 1, `${line}: sent ${times} times`)
      if (way === 'probe' || way === 'retry') assert.notEqual(outcome, 'unknown', line)
    }
  },
})
