/** What a host keeps to mask secrets: as much as there are agents and sets of values, however many threads there were. */
import { expect, it } from 'vitest'
import { createState } from '../../../../actors/thread/state.js'
import { Environments } from '../../../../src/runtime/secrets/environment.js'
import { Secrets } from '../../../../src/runtime/secrets/secrets.js'
import { loadApp } from '../../../../src/runtime/app/load.js'
import { looseTool, tinyApp } from '../../../helpers/app.js'

it('threads that have no values of their own share what masks the secrets of their agent', async () => {
  const tools = [looseTool('call', async () => 'done', { variables: [{ name: 'API_KEY' }] })]
  const app = await loadApp(tinyApp({ tools, script: () => 'done' }).app)
  const secrets = new Secrets({ source: undefined })
  const envs = new Environments({ app, instance: { API_KEY: 'sk-live-0123456789' }, secrets })
  const stateOf = (id: string) => ({ ...createState(id), agent: 'helper', path: [id] })
  const first = envs.redactor(stateOf('t1'))
  expect(first?.text('it is sk-live-0123456789')).not.toContain('0123456789')
  expect(envs.redactor(stateOf('t2'))).toBe(first)
  const own = { keys: [], own: { API_KEY: 'sealed' }, inherited: {} }
  expect(envs.redactor({ ...stateOf('t3'), env: own })).not.toBe(envs.redactor({ ...stateOf('t4'), env: own }))
})
