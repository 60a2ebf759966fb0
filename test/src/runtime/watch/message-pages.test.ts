/** Pages of messages, from the newest back, of lives as most threads have them. */
import { expect, it } from 'vitest'
import { defined } from '../../../../src/core/defined.js'
import { memory } from '../../../../src/backend/memory/memory.js'
import type { Backend, Store } from '../../../../src/backend/port.js'
import { calls, tinyApp, looseTool } from '../../../helpers/app.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import type { Thread } from '../../../../src/runtime/handles/thread.js'
import { readMessagePage } from '../../../../src/runtime/watch/message-pages.js'

/** A store that counts the records that are read from journals. */
function counting(source: Store): { readonly store: Store; readonly count: { records: number } } {
  const count = { records: 0 }
  const watched = (backend: Backend): Backend => ({
    ...backend,
    journal: {
      ...backend.journal,
      async read(thread, range) {
        const entries = await backend.journal.read(thread, range)
        for (const entry of entries) count.records += entry.count
        return entries
      },
    },
  })
  return { store: { open: async (role, self) => watched(await source.open(role, self)) }, count }
}

async function allPages(backend: Backend, thread: Thread, slice?: number) {
  const pages = []
  for (let before = Infinity, more = true; more;) {
    const page =
      (await readMessagePage(backend, thread.id, { before, limit: 10, silent: 'hide', ...defined({ slice }) })) ?? []
    pages.unshift(...page.map(({ seq: _, ...message }) => message))
    before = page[0]?.seq ?? 0
    more = page.length > 0
  }
  return pages
}

it('MP1: pages of a chat with calls and of one long turn are all messages, and each reads a part of the journal', async () => {
  const { store, count } = counting(memory())
  const { app } = tinyApp({
    tools: [looseTool('look', () => 'seen')],
    script: ({ messages }) => {
      const asked = messages.findLast(({ role }) => role === 'user')?.text ?? ''
      const since = messages.length - messages.findLastIndex(({ role }) => role === 'user') - 1
      const rounds = asked.startsWith('long') ? 150 : 1
      return since < 3 * rounds ? calls('look', 'look') : `answer to ${asked}`
    },
  })
  const skein = await createSkein({ app, backend: store, snapshotEvery: 50 })
  const thread = await skein.threads.create({ agent: 'helper', id: 't' })
  for (let n = 0; n < 60; n++) await thread.send(`question ${n}`).result()
  await thread.send('long').result()
  for (let n = 0; n < 60; n++) await thread.send(`further question ${n}`).result()
  const backend = await store.open('client')
  const all = await thread.messages()
  const { seq } = await thread.info()
  expect(await allPages(backend, thread)).toEqual(all)
  expect(await allPages(backend, thread, 20)).toEqual(all)
  for (const before of [Infinity, Math.floor(seq / 2)]) {
    count.records = 0
    const page = await thread.messages({ before, limit: 10 })
    expect(page.length).toBeGreaterThan(5)
    // One slice, and not much more.
    expect(count.records).toBeLessThan(400)
  }
  await expect(thread.messages({ before: 5, after: 'x' })).rejects.toMatchObject({ code: 'BAD_OPTION' })
  await backend.close()
  await skein.close()
})
