/**
 * What if it had answered differently here? A thread is forked in the middle of its turn and goes on with another
 * prompt; then the first one goes back, and what it had done to the world is undone.
 *
 *   npx tsx examples/22-what-if/main.ts
 */
import assert from 'node:assert/strict'
import { SkeinError, createSkein, memory } from 'skein'
import { bank, createApp } from './app.js'

const store = memory()

{
  await using skein = await createSkein({ app: createApp('generous'), backend: store })
  const thread = await skein.threads.create({ agent: 'clerk', id: 'complaint' })
  console.log(`generous: ${await thread.send('My kettle is broken.', { id: 'm1' }).text()}`)

  console.log('\nthe timeline:')
  for (const { kind, step, text, calls = [], point } of await thread.timeline())
    console.log(
      `  ${point ? `@${step}` : '  '} ${[kind, text, ...calls.map(({ tool, effect }) => `${tool}${effect ? ` (${effect})` : ''}`)].filter(Boolean).join(' · ')}`,
    )
}

// The same store with other definitions: the fork has the past of the thread, and goes on with the prompt of now.
await using skein = await createSkein({ app: createApp('strict'), backend: store })
const thread = await skein.threads.get('complaint')

const refused: unknown = await thread.fork({ at: { step: 1 } }).catch((thrown: unknown) => thrown)
assert.ok(SkeinError.is(refused, 'EFFECTS_CROSSED'))
const { effects } = await thread.fork({ at: { step: 1 }, dry: true })
console.log(
  `\na fork at @1 would cross: ${effects.map(({ tool, call, state }) => `${tool} (${call}, ${state})`).join(', ')}`,
)

// So it must be said what such calls do in the fork: here each would wait for an approval.
const fork = await thread.fork({ at: { step: 1 }, effects: 'ask', go: true, id: 'what-if' })
console.log(`strict: ${await fork.run('m1').text()}`)

const { messages, files } = await skein.diff('complaint', 'what-if')
console.log(`\n${messages?.common} messages in common, files that differ: ${files?.length}`)
for (const { role, text, calls = [] } of messages?.a ?? []) console.log(`  - ${role}: ${text || calls[0]?.tool}`)
for (const { role, text } of messages?.b ?? []) console.log(`  + ${role}: ${text}`)

// The thread itself goes back to the same point: what it paid is taken back first, by the tool that paid.
const { reverted } = await thread.rewind({ to: { step: 1 }, revert: true })
await thread.resume()
await thread.settled()
console.log(`\nundone: ${reverted.join(', ')}; the thread now says: ${(await thread.messages()).at(-1)?.text}`)
console.log(`the bank: ${bank.map((line) => line.split(' ').slice(0, -1).join(' ')).join(', ')}`)
