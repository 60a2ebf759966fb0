/** In place of a provider: looks for a skill that fits, and does what it says. */
import { defineModel } from 'skein'
import { scriptedModel } from 'skein/testing'

const skill = 'invoices'
const script = scriptedModel(({ system = '', messages }) => {
  const results = messages.filter(({ role }) => role === 'tool').map(({ text }) => text)
  const [, told, , sum = ''] = results
  if (results.length === 0) {
    const [, name = ''] = /<skill name="([\w-]+)">[^\n]*invoice/i.exec(system) ?? []
    return { calls: [{ tool: 'load_skill', args: { name } }] }
  }
  if (told === undefined) return { calls: [{ tool: 'read_skill_file', args: { skill, path: 'references/rates.md' } }] }
  if (sum !== '') return `The invoice is over ${sum.trim()} euros.`
  if (results.length === 2)
    return { calls: [{ tool: 'read_skill_file', args: { skill, path: 'scripts/total.sh', saveAs: '/total.sh' } }] }
  const [, rate = ''] = /(\d+) euros/.exec(told) ?? []
  return { calls: [{ tool: 'bash', args: { cmd: 'sh', args: ['/total.sh', '/hours.csv', rate] } }] }
})

export default defineModel({ model: script, aliases: ['sonnet'] })
