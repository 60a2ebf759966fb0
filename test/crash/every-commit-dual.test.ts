/** A session of two sides that is cut off after any of its commits, alone and as a child. */
import { expect, test } from 'vitest'
import type { Definition } from '../../src/agent/define.js'
import type { Message } from '../../src/core/records/message.js'
import { calls, looseTool } from '../helpers/app.js'
import { pairApp } from '../helpers/dual.js'
import { cutAfterEveryCommit } from '../helpers/every-commit.js'

const results = (messages: readonly Message[]): string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ text }) => text)
const said = (messages: readonly Message[], role: Message['role']): number =>
  messages.filter((message) => message.role === role).length
const speak = (tool: string, args: object) => calls({ tool, args })

/** Side A drafts with a tool and hands its draft over with another; side B wants it once more, and accepts. */
function createApp(ran: string[], alone: boolean): readonly Definition[] {
  const tool = (name: string) =>
    looseTool(
      name,
      (_, args) => {
        ran.push(`${name} ${String(args['of'])}`)
        return { ...args, by: name }
      },
      name === 'look' ? {} : { sideEffect: true, idempotent: true },
    )
  const { app } = pairApp({
    ...(alone
      ? { name: 'lead' }
      : {
          lead: ({ messages, step }) =>
            [
              speak('subagent_create', { agent: 'pair', name: 'P', message: 'poem' }),
              speak('subagent_message', { reference: 'pair-1', message: 'song' }),
            ][step] ?? results(messages).join(' | '),
        }),
    relation: { resumable: { receives_messages: 'side_a' } },
    a: ({ messages, step }) => {
      const of = said(messages, 'user')
      return step === 0
        ? speak('look', { of })
        : calls({ tool: 'hand', args: { of, draft: `draft ${of}` } }, { tool: 'look', args: { of: -of } })
    },
    b: ({ messages }) => {
      const drafts = said(messages, 'user')
      return drafts % 2 === 1
        ? `again after ${drafts}`
        : speak('accept', { of: drafts, verdict: `took ${messages.at(-1)?.text}` })
    },
    sideA: { stopTool: 'hand', stopToolResponseProperty: 'draft' },
    sideB: { sessionStop: { name: 'accept', messageProperty: 'verdict' } },
    tools: [tool('look'), tool('hand'), tool('accept')],
  })
  return app
}

test.each([
  { how: 'alone', alone: true, text: 'took draft 2', least: 8 },
  { how: 'as a child that stays', alone: false, text: 'took draft 2\n\n[reference: pair-1] | took draft 4', least: 15 },
])(
  'S11, P1: a session $how goes on to the same end, and nothing that was taken is done again',
  async ({ alone, text, least }) => {
    const lives: string[][] = []
    const ended = await cutAfterEveryCommit((ran) => {
      lives.push(ran)
      return createApp(ran, alone)
    })
    expect(ended.text).toBe(text)
    expect(ended.cuts).toBeGreaterThan(least)
    const [whole = []] = lives
    for (const [commits, ran] of ended.runs.entries()) {
      expect(new Set(ran), `after ${commits} commits`).toEqual(new Set(whole))
      // Of the step that was cut off, at most.
      expect(ran.length - whole.length, `after ${commits} commits`).toBeLessThanOrEqual(2)
    }
  },
  60_000,
)
