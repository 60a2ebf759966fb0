/** Agents of the app: what they may call, and a form that starts a thread. */
import '../style/lists.css'
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { AppOutline } from '../../index.js'
import { pathTo, getJson, toPageProblem } from '../kit/api.js'
import type { PageProblem } from '../kit/api.js'
import { freshId } from '../kit/clock.js'
import { TextField } from '../kit/field.js'
import { JsonView } from '../kit/json-view.js'
import { address, goTo, hrefOf } from '../kit/router.js'
import { Empty, Loading, Problem, writeBlocked } from '../kit/ui.js'
import { receiptWords, receipts, write } from '../kit/write.js'

type AgentOutline = AppOutline['agents'][number]

export function AgentsScreen(): VNode {
  const [outline, setOutline] = useState<AppOutline>()
  const [problem, setProblem] = useState<PageProblem>()
  useEffect(() => {
    getJson<AppOutline>('definitions')
      .then(setOutline)
      .catch((thrown: unknown) => setProblem(toPageProblem(thrown)))
  }, [])
  const name = address.value.parts[1]
  const agent = outline?.agents.find((each) => each.name === name) ?? outline?.agents[0]
  return h(
    'main',
    { id: 'main', class: 'screen agents-screen' },
    h('div', { class: 'bar' }, h('h1', null, 'Agents')),
    problem ? h(Problem, { problem }) : null,
    !outline && !problem ? h(Loading, { what: 'definitions' }) : null,
    outline?.agents.length === 0 ? h(Empty, { title: 'The app defines no agent' }) : null,
    outline && agent
      ? h(
          'div',
          { class: 'side-by-side' },
          h(
            'nav',
            { class: 'side-list', 'aria-label': 'Agents' },
            outline.agents.map((each) =>
              h(
                'a',
                {
                  key: each.name,
                  href: hrefOf(['agents', each.name]),
                  'aria-current': each === agent ? 'page' : undefined,
                },
                each.name,
              ),
            ),
          ),
          h(AgentPage, { agent, outline, key: agent.name }),
        )
      : null,
  )
}

function AgentPage({ agent, outline }: { agent: AgentOutline; outline: AppOutline }): VNode {
  const called = new Set(agent.sides.flatMap(({ calls }) => calls))
  const tools = outline.tools.filter((tool) => called.has(tool.name))
  return h(
    'div',
    { class: 'agent-page' },
    h('h2', null, agent.name, h('span', { class: 'muted' }, ` ${agent.type}`)),
    agent.description ? h('p', null, agent.description) : null,
    h(StartForm, { agent }),
    agent.sides.map((side) =>
      h(
        'p',
        { key: side.prompt, class: 'muted' },
        `${side.label ?? 'Prompt'} `,
        h('code', null, side.prompt),
        ' on model ',
        h('code', null, side.model || '–'),
        side.calls.length > 0 ? ` · may call ${side.calls.join(', ')}` : '',
      ),
    ),
    agent.variables.length > 0
      ? h(
          'p',
          { class: 'muted' },
          `Variables: ${agent.variables.map((each) => `${each.name}${each.required ? ' (required)' : ''}`).join(', ')}`,
        )
      : null,
    tools.map((tool) =>
      h(
        'details',
        { key: tool.name, class: 'tool-details' },
        h('summary', null, h('span', { class: 'tool-name' }, tool.name), ` ${tool.description ?? ''}`),
        h(JsonView, { value: tool.parameters }),
      ),
    ),
  )
}

function StartForm({ agent }: { agent: AgentOutline }): VNode {
  const [text, setText] = useState('')
  const [id, setId] = useState('')
  const blocked = writeBlocked.value
  const about = `start ${agent.name}`
  const receipt = receipts.value[about]
  const start = async (): Promise<void> => {
    const thread = id === '' ? `t-${freshId()}` : id
    const made = await write({
      about,
      what: 'thread created',
      path: 'threads',
      body: { agent: agent.name, id: thread },
    })
    if (!made) return
    const sent = await write({
      about,
      what: 'message sent',
      path: pathTo`threads/${thread}/messages`,
      body: { text },
      idempotencyKey: freshId(),
    })
    if (sent) goTo(hrefOf(['trees', thread]))
  }
  return h(
    'form',
    {
      class: 'answer start',
      onSubmit: (event: Event) => {
        event.preventDefault()
        if (text !== '' && blocked === undefined) void start()
      },
    },
    h(TextField, { label: 'First message', value: text, onText: setText, rows: 3 }),
    h(TextField, { label: 'Id (optional)', value: id, onText: setId, pattern: '[a-zA-Z0-9_\\-]{1,64}' }),
    h(
      'div',
      { class: 'actions' },
      h(
        'button',
        { type: 'submit', class: 'action primary', disabled: text === '' || blocked !== undefined, title: blocked },
        'Start a thread',
      ),
      blocked ? h('span', { class: 'blocked' }, blocked) : null,
      receipt ? h('span', { class: `receipt ${receipt.phase}`, role: 'status' }, receiptWords(receipt)) : null,
    ),
  )
}
