/** Children that are tried again, as the command line shows their calls. */
import { expect, it } from 'vitest'
import { collect } from '../../helpers/deferred.js'
import { createCalls } from '../../../src/cli/turn/calls.js'
import { memory } from '../../../src/backend/memory/memory.js'
import { createSkein } from '../../../src/runtime/skein.js'
import { calls } from '../../helpers/app.js'
import { family, write } from '../../helpers/family.js'

it.each([true, false])(
  'B5: a child that fails and is tried again is answered once, with what it says at last (blocking: %s)',
  async (blocking) => {
    const tries = new Map<string, number>()
    const app = family({
      relation: { blocking, supervision: { strategy: 'one_for_one', maxRestarts: 1 } },
      lead: ({ messages }) => (messages.at(-1)?.text === 'go' ? calls(write('once'), write('ever')) : 'done'),
      writer: ({ messages }) => {
        const said = messages.at(-1)?.text ?? ''
        const before = tries.get(said) ?? 0
        tries.set(said, before + 1)
        return said === 'ever' || before === 0 ? { error: `boom ${said}` } : 'worked'
      },
    })
    const skein = await createSkein({ app, backend: memory() })
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').result()
    await lead.settled({ tree: true })
    const shown = createCalls()
    const changes = await collect(lead.view({ from: 'start', until: 'now' }))
    const answered = changes
      .flatMap((change) => shown.take(change))
      .flatMap((each) =>
        each.state === 'answered'
          ? [`${each.call.tool} ${each.outcome.ok ? 'worked' : each.outcome.failure.code}`]
          : [],
      )
    expect(answered.toSorted()).toEqual(['writer-1 worked', 'writer-2 CHILD_FAILED'])
    await skein.close()
  },
)
