/** Names of a thread's variables and where their values come from. A value never comes here. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { pathTo } from '../kit/api.js'
import { TextField } from '../kit/field.js'
import { useResource } from '../kit/resource.js'
import { Empty, Loading, Problem, writeBlocked } from '../kit/ui.js'
import { receiptWords, receipts, write } from '../kit/write.js'
import type { ThreadTabProps } from './thread-screen.js'

interface Names {
  readonly variables: readonly { readonly name: string; readonly from: 'own' | 'inherited' }[]
}

export function EnvTab({ thread, row }: ThreadTabProps): VNode {
  const { value, problem, again } = useResource<Names>(pathTo`threads/${thread}/variables`, row.seq)
  if (problem && !value) return h(Problem, { problem, retry: again })
  if (!value) return h(Loading, { what: 'variables' }) ?? h('div', null)
  return h(
    'div',
    { class: 'padded' },
    value.variables.length === 0 ? h(Empty, { title: 'No variable has a value here' }) : null,
    value.variables.length > 0
      ? h(
          'table',
          { class: 'plain' },
          h(
            'thead',
            null,
            h(
              'tr',
              null,
              h('th', { scope: 'col' }, 'Name'),
              h('th', { scope: 'col' }, 'Value'),
              h('th', { scope: 'col' }, 'From'),
            ),
          ),
          h(
            'tbody',
            null,
            value.variables.map(({ name, from }) =>
              h(
                'tr',
                { key: name },
                h('th', { scope: 'row' }, name),
                h('td', { class: 'muted' }, 'sealed'),
                h('td', null, from === 'own' ? 'this thread' : 'its parent'),
              ),
            ),
          ),
        )
      : null,
    h(SetForm, { thread }),
  )
}

function SetForm({ thread }: { thread: string }): VNode {
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const about = `env ${thread}`
  const receipt = receipts.value[about]
  const blocked = writeBlocked.value
  return h(
    'form',
    {
      class: 'answer inline',
      onSubmit: (event: Event) => {
        event.preventDefault()
        if (name === '' || blocked !== undefined) return
        void write({
          about,
          what: `${name} set`,
          path: pathTo`threads/${thread}/variables`,
          method: 'PATCH',
          body: { [name]: value },
        })
        setValue('')
      },
    },
    h(TextField, { label: 'Name', value: name, onText: setName }),
    h(TextField, { label: 'Value', value, onText: setValue, isSecret: true }),
    h(
      'button',
      {
        type: 'submit',
        class: 'action',
        disabled: name === '' || value === '' || blocked !== undefined,
        title: blocked,
      },
      'Set',
    ),
    receipt ? h('span', { class: `receipt ${receipt.phase}`, role: 'status' }, receiptWords(receipt)) : null,
  )
}
