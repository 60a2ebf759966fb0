/** Commands on their way into a thread: no field that a person or another thread writes keeps a secret. */
import { expect, it } from 'vitest'
import type { Command } from '../../../../src/core/records/command.js'
import { createRedactor } from '../../../../src/core/redact/redact.js'
import { maskCommand } from '../../../../src/runtime/secrets/mask.js'

const secret = 'hunter2-hunter2'
const text = `see ${secret}`

const commands: readonly Command[] = [
  { kind: 'message', role: 'user', text, delivery: 'steer' },
  { kind: 'edit', message: 'm', text },
  { kind: 'cancel', reason: text },
  { kind: 'pause', reason: text },
  { kind: 'terminate', reason: text },
  { kind: 'decide', call: 'call_1_0', decision: 'reject', comment: text, by: text, args: { text } },
  { kind: 'answer', call: 'call_1_0', output: text, by: text },
  { kind: 'call', tool: 'note', args: { text } },
  { kind: 'change', changes: { values: [{ key: 'kv/a', value: text }] } },
  { kind: 'grant', amounts: { tokens: 1 }, by: text },
  {
    kind: 'create',
    agent: 'a',
    tags: [],
    path: ['t'],
    message: { role: 'user', text, delivery: 'steer' },
    changes: {
      values: [{ key: 'kv/a', value: text }],
      schedules: [{ op: 'add', id: 's', at: 1, tool: 'note', args: { text } }],
    },
  },
  { kind: 'tell', child: 'c', reference: 'c-1', words: [{ text }, { status: text }], number: 1 },
  { kind: 'report', child: 'c', reference: 'c-1', outcome: { ok: true, value: text }, note: text },
]

it.each(commands)('F3: nothing of $kind keeps a secret', (command) => {
  const redactor = createRedactor([secret])
  const masked = redactor && JSON.stringify(maskCommand(redactor, command))
  expect(JSON.stringify(command)).toContain(secret)
  expect(masked).not.toContain(secret)
})
