/** Agents and prompts as Markdown, beside TypeScript, in an app that is a folder. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { App } from '../../../../src/agent/app.js'
import { memory } from '../../../../src/backend/memory/memory.js'
import { loadAppWithTools } from '../../../../src/runtime/app/load.js'
import { createSkein } from '../../../../src/runtime/skein.js'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'skein-markdown-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

type Files = Readonly<Record<string, string>>

const model = (more = ''): string => `
  const usage = { inputTokens: 1, outputTokens: 1, costUsd: 0 }
  const call = async ({ system, tools }) =>
    ({ text: system + ' with ' + tools.map(({ name }) => name).join(' '), calls: [], finish: 'stop', usage })
  export default { kind: 'model', name: '', model: { name: 'm', call }, ${more} }`

async function load(files: Files): Promise<App> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), text)
  }
  return (await loadAppWithTools(dir)).app
}

async function mistakes(files: Files): Promise<readonly string[]> {
  const refused: unknown = await load({ 'models/main.ts': model(), ...files }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return refused instanceof Error ? refused.message.split('\n').slice(1) : []
}

const reviewer = `---
name: reviewer
description: Use this agent when a change is ready to be looked at. Examples: <example>Context: a function was written. user: 'Done.'</example>
tools: Read, Grep, Glob, Bash, TodoWrite
model: sonnet
color: purple
---

You review changes.

- Say what is wrong.
`

it('E3: the subagent file of a coding agent is an agent and its prompt', async () => {
  const app = await load({
    'models/main.ts': model(`aliases: ['sonnet', 'inherit']`),
    'models/other.ts': model(),
    'agents/reviewer.md': reviewer,
    'agents/lead.md':
      '---\ntools:\n  - name: reviewer\n  - Read\nmaxSteps: 5\nbudget: { tokens: 1000 }\n---\nYou lead.',
  })
  expect(app.agents.get('reviewer')).toEqual({
    kind: 'agent',
    name: 'reviewer',
    type: 'ai_human',
    sideA: { prompt: 'reviewer' },
    exposeAsTool: true,
    toolDescription:
      `Use this agent when a change is ready to be looked at. Examples: <example>Context: a function was written. ` +
      `user: 'Done.'</example>`,
  })
  expect(app.prompts.get('reviewer')).toEqual({
    kind: 'prompt',
    name: 'reviewer',
    prompt: 'You review changes.\n\n- Say what is wrong.',
    model: 'main',
    tools: ['read', 'grep', 'glob', 'bash', 'manage_todo_list'],
  })
  expect(app.agents.get('lead')).toMatchObject({ sideA: { prompt: 'lead', maxSteps: 5 }, budget: { tokens: 1000 } })
  expect(app.prompts.get('lead')).toMatchObject({ model: 'main', tools: [{ name: 'reviewer' }, 'read'] })
})

it('E3: it stands beside TypeScript, and runs; line ends and a byte order mark change nothing', async () => {
  await load({
    'models/main.ts': model(),
    'agents/team.ts': `export default { kind: 'agent', type: 'ai_human', sideA: { prompt: 'house' } }`,
    'prompts/house.md': '\uFEFF---\r\ntools: write\r\ntemperature: 0.5\r\n---\r\n\r\nYou are\r\nkind.\r\n',
    'agents/README.md': 'Agents live here.',
  })
  const skein = await createSkein({ app: dir, backend: memory(), workers: { threads: 1 } })
  expect(skein.agents).toEqual(['team'])
  const thread = await skein.threads.create({ agent: 'team', id: 't' })
  expect(await thread.send('hello').text()).toBe('You are\nkind. with write')
  await skein.close()
})

it('E3: a prompt in Markdown has all fields of a prompt, and a description makes it one to call', async () => {
  const { prompts } = await load({
    'models/main.ts': model(),
    'prompts/sort.md':
      '---\ndescription: Sorts.\nincludeChat: false\nreasoning: low\nvariables:\n  - { name: SHOP, type: text }\n---\nSort.',
    'prompts/quiet.md': '---\ndescription: Quiet.\nexposeAsTool: false\n---\nHush.',
  })
  expect(prompts.get('sort')).toMatchObject({
    toolDescription: 'Sorts.',
    exposeAsTool: true,
    includeChat: false,
    reasoning: 'low',
    variables: [{ name: 'SHOP', type: 'text' }],
  })
  expect(prompts.get('quiet')).toMatchObject({ exposeAsTool: false })
})

it('E3: what a file lacks is told with its line and a suggestion, and all mistakes at once', async () => {
  const found = await mistakes({
    'agents/empty.md': '',
    'agents/notes.md': '# Notes\n',
    'agents/open.md': '---\nname: open\n',
    'agents/yaml.md': '---\nname: yaml\ntools: [a\n---\nx',
    'agents/list.md': '---\n- a\n---\nx',
    'agents/name.md': '---\nname: another\n---\nx',
    'agents/body.md': '---\nname: body\n---\n',
    'agents/fields.md':
      '---\nname: fields\nmaxstep: 3\nmaxTurns: 4\npermissionMode: plan\nmaxSteps: none\ntemprature: 1\n---\nx',
    'agents/types.md': '---\nname: types\nmaxSteps: none\ntools: 7\n---\nx',
    'agents/steps.md': '---\nname: steps\nbudget:\n  tokens: 5\n  steps: many\n---\nx',
    'agents/tools.md': '---\nname: tools\ntools:\n  - read\n  - raed\n  - WebFetch\n---\nx',
    'agents/narrow.md': '---\ntools: Read, Bash(git diff:*, git log)\n---\nx',
    'agents/model.md': '---\nmodel: mian\ntools: wirte\nskills: x\n---\nx',
    'agents/bomb.md': `---\na: &a [x, x]\n${'bcdefghijk'.replaceAll(/./g, (key, at: number) => `${key}: &${key} [${`*${'abcdefghij'[at]}, `.repeat(20)}]\n`)}---\nx`,
  })
  expect(found).toEqual([
    '- agents/body.md:4: it has no text below its front matter: that is the prompt',
    '- agents/bomb.md:2: its front matter repeats parts of itself (*name) too often',
    expect.stringMatching(/^- agents\/empty\.md:1: it is empty; write ---/),
    '- agents/fields.md:3: maxstep: there is no such field; did you mean maxSteps?',
    '- agents/fields.md:4: maxTurns: there is no such field; the limit of an agent is maxSteps',
    '- agents/fields.md:5: permissionMode: there is no such field; approval is decided tool by tool (needsApproval in ' +
      'its definition)',
    '- agents/fields.md:7: temprature: there is no such field; did you mean temperature?',
    expect.stringMatching(/^- agents\/list\.md:2: its front matter has no fields; /),
    `- agents/model.md:2: model: the app has no model "mian"; did you mean "main"? there are: main. A model may have ` +
      `other names: defineModel({ aliases: ['mian'], … })`,
    '- agents/name.md:2: name: it is "another", and the file gives the name: rename one, or leave it out',
    '- agents/narrow.md:2: tools: "Bash(git diff:*, git log)": a part of a tool cannot be named; name Bash, or define ' +
      'a tool that does no more than this',
    expect.stringMatching(/^- agents\/notes\.md:1: no front matter: /),
    '- agents/open.md:1: its front matter has no end: write --- on a line below it',
    '- agents/types.md:4: tools: must be names with commas between them, or a list',
    expect.stringMatching(/^- agents\/yaml\.md:4: its front matter is not YAML: /),
    expect.stringMatching(/^- agents\/fields\.md:6: agent "fields": sideA\.maxSteps: /),
    expect.stringMatching(/^- agents\/steps\.md:5: agent "steps": budget\.steps: /),
    expect.stringMatching(/^- agents\/types\.md:3: agent "types": sideA\.maxSteps: /),
    expect.stringMatching(/^- agents\/model\.md:3: prompt "model" names the tool "wirte"; did you mean "write"\? /),
    '- agents/model.md:4: prompt "model" names the skill "x"; there are: none',
    expect.stringMatching(
      /^- agents\/tools\.md:5: prompt "tools" names the tool "raed"; did you mean "read"\? there are: /,
    ),
    expect.stringMatching(/^- agents\/tools\.md:6: prompt "tools" names the tool "WebFetch"; there are: .*read/),
  ])
})

it('E3: what stands in for a wrong model is no model of the app to others', async () => {
  const found = await mistakes({
    'agents/a.md': '---\nmodel: haiku\n---\nx',
    'prompts/p.ts': `export default { kind: 'prompt', prompt: 'x', model: 'sonnet' }`,
  })
  expect(found).toEqual([
    expect.stringMatching(/^- agents\/a\.md:2: model: the app has no model "haiku"; there are: main\./),
    '- prompts/p.ts: prompt "p" names the model "sonnet"; there are: main',
  ])
})

it('E3: a name that two files give is told with both', async () => {
  expect(
    await mistakes({
      'agents/a.md': '---\nname: a\n---\nx',
      'agents/a.ts': `export default { kind: 'agent', type: 'ai_human', sideA: { prompt: 'a' } }`,
      'agents/b.md': '---\nname: b\n---\nx',
      'prompts/b.ts': `export default { kind: 'prompt', prompt: 'x', model: 'main' }`,
      'agents/c.md': '---\nname: c\n---\nx',
      'prompts/c.md': '---\nname: c\n---\nx',
    }),
  ).toEqual([
    '- agents/a.md and agents/a.ts both name the agent "a"; keep one',
    '- agents/b.md and prompts/b.ts both name the prompt "b"; keep one',
    '- prompts/c.md and agents/c.md both name the prompt "c"; keep one',
  ])
})

it('E3: without a name of a model it is the only one, or the one that says so', async () => {
  const two: Files = { 'models/main.ts': model(), 'models/other.ts': model() }
  expect(await mistakes({ ...two, 'agents/a.md': '---\nmodel: inherit\n---\nx' })).toEqual([
    `- agents/a.md:2: model: it names none, and the app has several; name one, or give one aliases: ['inherit']; there ` +
      `are: main, other`,
  ])
  await rm(join(dir, 'agents'), { recursive: true })
  expect(await mistakes({ 'models/main.ts': model(`aliases: ['other', 'x', 'x']`) })).toEqual([
    '- models/main.ts: model "main" has the alias "other", which is the model "other"',
    '- models/main.ts: model "main" has the alias "x", which is the model "main"',
  ])
})

it('E3: tools of other names: without regard to case, of a server, refused ones left out', async () => {
  const tool = `import { z } from 'zod'\nexport default { kind: 'tool', name: '', args: z.object({}), execute: () => 1 }`
  await mkdir(join(dir, 'node_modules'))
  const { symlink } = await import('node:fs/promises')
  await symlink(join(import.meta.dirname, '../../../../node_modules/zod'), join(dir, 'node_modules/zod'))
  const { prompts } = await load({
    'models/main.ts': model(),
    'tools/create_issue.ts': tool,
    'tools/hub_search.ts': tool,
    'agents/a.md':
      '---\ntools: LS, MultiEdit, Edit, mcp__hub__create_issue, mcp__hub__search, Write\ndisallowedTools: Write\n---\nx',
  })
  expect(prompts.get('a')).toMatchObject({ tools: ['ls', 'edit', 'create_issue', 'hub_search'] })
})
