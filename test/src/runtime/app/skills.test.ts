/** Agent Skills: folders with a SKILL.md, named in the prompt and read on demand. */
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { agentOfPrompt } from '../../../../src/agent/callable.js'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, Prompt, ToolDefinition } from '../../../../src/agent/define.js'
import { fromSkills } from '../../../../src/agent/skills.js'
import { memory } from '../../../../src/backend/memory/memory.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { ScriptedModel, ScriptedReply } from '../../../../src/models/scripted.js'
import { loadAppWithTools } from '../../../../src/runtime/app/load.js'
import { createAgentSetup } from '../../../../src/runtime/resolve/agent-setup.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { looseTool } from '../../../helpers/app.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

const five = new URL('../fixtures/skills/', import.meta.url)

const names = ['brand-guidelines', 'code-review', 'data-analysis', 'form-filler', 'release-notes']

interface Reader {
  readonly app: readonly Definition[]
  readonly model: ScriptedModel
}

function reader(
  replies: readonly ScriptedReply[],
  prompt: Partial<Prompt> = { skills: true },
  folder: URL | string = five,
): Reader {
  const model = scriptedModel(replies)
  return {
    model,
    app: [
      fromSkills(folder),
      defineModel({ name: 'scripted', model }),
      definePrompt({ name: 'p', prompt: 'You help.', model: 'scripted', ...prompt }),
      defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
    ],
  }
}

const load = (name: string): ScriptedReply => ({ calls: [{ tool: 'load_skill', args: { name } }] })
const read = (args: object): ScriptedReply => ({ calls: [{ tool: 'read_skill_file', args }] })

/** What the model read as results. */
function results({ requests }: ScriptedModel): readonly string[] {
  return (requests.at(-1)?.messages ?? []).flatMap(({ role, text }) => (role === 'tool' ? [text] : []))
}

async function ask({ app, model }: Reader, files?: (path: string) => Promise<void>): Promise<readonly string[]> {
  const skein = await createSkein({ app, backend: memory() })
  try {
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('go').result()
    await files?.(Buffer.from(await thread.files.readFile('/form/fields.awk')).toString())
    return results(model)
  } finally {
    await skein.close()
  }
}

describe('skills', () => {
  it('E2: five skills of different make: names and descriptions are in the prompt, in order, and on one line', async () => {
    const { app, model } = reader(['Hello.'])
    await ask({ app, model })
    const [request] = model.requests
    const { system = '', tools = [] } = request ?? {}
    expect(system.startsWith('You help.\n\n<skills>\n')).toBe(true)
    expect([...system.matchAll(/^<skill name="(.*?)">.+<\/skill>$/gm)].map(([, name]) => name)).toEqual(names)
    // A description is text: it cannot end its own place.
    expect(system).toContain('slides &amp; web pages with &lt;b&gt;markup&lt;/b&gt;.</skill>')
    expect(system).toContain('Use when asked: is this right')
    expect(system).toContain('Answers questions about tables (CSV, TSV). Use it for sums')
    expect(system).not.toContain('Harbour Bakery\n')
    expect(tools.map(({ name }) => name)).toEqual(['load_skill', 'read_skill_file'])
    const again = reader(['Hello.'])
    await ask(again)
    expect(again.model.requests[0]?.system).toBe(system)
  })

  it('E2: load_skill gives the body, what it requires, and the names of its files', async () => {
    const [form = '', review = '', notes = ''] = await ask(
      reader([load('form-filler'), load('code-review'), load('release-notes'), 'Done.']),
    )
    expect(form).toMatch(/^<skill name="form-filler">\n# Filling in forms\n[^]*which ones these are\.\n<\/skill>\n/)
    expect(form).toContain('Requires: Needs a shell with awk\nIts files, for read_skill_file:\nLICENSE.txt (4 bytes)\n')
    expect(form).toContain('\nscripts/fields.awk (')
    expect(form).not.toContain('description:')
    expect(review).toContain('\nWritten for the tools: Read, Grep, Bash(git diff:*). Use no others for it; ')
    expect(notes).toMatch(/<\/skill>\nWritten for the tools: read, grep\. [^\n]*$/)
  })

  it('E2: read_skill_file reads a file or some lines of it, and copies one to the thread’s own files', async () => {
    const skill = 'form-filler'
    const seen = await ask(
      reader([
        read({ skill, path: './references/dates.md' }),
        read({ skill, path: 'references/dates.md', offset: 3, limit: 1 }),
        read({ skill, path: 'scripts/fields.awk', saveAs: '/form/fields.awk' }),
        'Done.',
      ]),
      async (copy) => expect(copy).toContain('# Lists the names of fields'),
    )
    expect(seen).toEqual([
      '# Dates\n\nWrite dates as 2026-11-17.\nA month alone is 2026-11.\n',
      'Write dates as 2026-11-17.\n',
      '/form/fields.awk: a copy of form-filler/scripts/fields.awk (127 bytes)',
    ])
  })

  it('E2: nothing but the files of the skill can be read', async () => {
    const skill = 'form-filler'
    const paths = [
      '../code-review/SKILL.md',
      '/etc/passwd',
      '..',
      'scripts/../../x',
      'SKILL.md',
      'fields.awk',
      'scripts',
    ]
    const seen = await ask(reader([...paths.map((path) => read({ skill, path })), 'Done.']))
    expect(seen.map((text) => /^Error (\w+)/.exec(text)?.[1])).toEqual([
      'TOOL_PATH_ESCAPE',
      'TOOL_PATH_ESCAPE',
      'TOOL_PATH_ESCAPE',
      'TOOL_PATH_ESCAPE',
      'TOOL_INPUT_INVALID',
      'TOOL_PATH_INVALID',
      'TOOL_PATH_INVALID',
    ])
    expect(seen[5]).toContain('did you mean scripts/fields.awk?')
    const [logo] = await ask(reader([read({ skill: 'brand-guidelines', path: 'assets/logo.png' }), 'Done.']))
    expect(logo).toMatch(/^Error TOOL_PATH_INVALID: brand-guidelines\/assets\/logo\.png is not text in UTF-8; saveAs/)
  })

  it('E2: a prompt has the skills that it names, and no others', async () => {
    const named = reader(
      [load('data-analysis'), load('code-reviw'), read({ skill: 'release-notes', path: 'x' }), 'Done.'],
      { skills: ['code-review'] },
    )
    const seen = await ask(named)
    expect(named.model.requests[0]?.system).toMatch(/<skill name="code-review">[^\n]*\n<\/skills>$/)
    expect(seen[0]).toBe('Error TOOL_INPUT_INVALID: there is no skill "data-analysis" here; there are: code-review')
    expect(seen[1]).toContain('did you mean code-review?')
    expect(seen[2]).toContain('there is no skill "release-notes" here')
    const none = reader(['Hello.'], {})
    await ask(none)
    expect(none.model.requests[0]).toMatchObject({ system: 'You help.', tools: [] })
  })

  it('E2: allowed-tools grants nothing: a tool that the prompt does not name is not there', async () => {
    const seen = await ask(
      reader([load('code-review'), { calls: [{ tool: 'bash', args: { cmd: 'ls' } }] }, 'Done.'], {
        skills: true,
        tools: ['read'],
      }),
    )
    expect(seen[1]).toBe(
      'Error UNKNOWN_TOOL: there is no tool "bash" here; the tools are: read, load_skill, read_skill_file',
    )
  })

  it('E2: a prompt that is called as a tool could not follow one, and is offered none', async () => {
    const { app } = await loadAppWithTools(reader([], { skills: true, exposeAsTool: true }).app)
    expect(createAgentSetup(app, 'helper').skills).toEqual(names)
    expect(createAgentSetup(app, agentOfPrompt('p').name)).toMatchObject({
      text: ['You help.'],
      offered: { specs: [] },
    })
  })

  it('E2: names of skills are checked when the app is loaded, and their tools’ names are Skein’s', async () => {
    const [set, model] = reader([]).app
    const prompt = { kind: 'prompt', name: 'p', prompt: 'x', model: 'scripted', skills: ['code-reviw'] } as const
    await expect(loadAppWithTools([set, model, prompt] as readonly Definition[])).rejects.toThrow(
      `prompt "p" names the skill "code-reviw"; did you mean "code-review"? there are: ${names.join(', ')}`,
    )
    await expect(
      loadAppWithTools([set, model, looseTool('load_skill', () => '')] as readonly Definition[]),
    ).rejects.toThrow('this name belongs to Skein')
    await expect(
      loadAppWithTools([looseTool('mine', () => '', { uses: ['load_skill'] })] as readonly Definition[]),
    ).rejects.toThrow('tool "mine" uses the tool "load_skill"; there are: ')
  })
})

onEveryStore('skills', (world) => {
  it('E2, P3: after a restart with another version of the app, a skill that is gone is an error result', async () => {
    const started = deferred<void>()
    const never = deferred<void>()
    const wait = (before: boolean): ToolDefinition =>
      looseTool('wait', async () => {
        started.resolve()
        if (before) await never.promise
        return 'waited'
      })
    const script: readonly ScriptedReply[] = [
      {
        calls: [
          { tool: 'wait', args: {} },
          { tool: 'load_skill', args: { name: 'code-review' } },
        ],
      },
    ]
    const options = { limits: { maxParallelTools: 1 }, closeGraceMs: 0 }
    const first = reader(script, { skills: true, tools: ['wait'] })
    const before = await world.open([...first.app, wait(true)], options)
    const run = (await before.threads.create({ agent: 'helper', id: 't' })).send('go')
    await started.promise
    await until('the calls to be durable', async () => (await run.pendingToolCalls()).length === 2)
    const closed = world.close(before)
    world.clock.advance(0)
    await closed

    const other = await mkdtemp(join(tmpdir(), 'skein-skills-'))
    await cp(new URL('release-notes', five), join(other, 'release-notes'), { recursive: true })
    const then = reader([load('code-review'), load('release-notes'), 'Done.'], { skills: true, tools: ['wait'] }, other)
    const after = await world.open([...then.app, wait(false)], options)
    const thread = await after.threads.get('t')
    expect(await thread.run(run.id).text()).toBe('Done.')
    const [, gone, unknown, found] = results(then.model)
    expect(gone).toMatch(/^Error TOOL_INPUT_INVALID: there is no skill "code-review" here; there are: release-notes$/)
    expect(unknown).toBe(gone)
    expect(found).toContain('# Notes of a release')
    await rm(other, { recursive: true })
  })
})

describe('a folder app with skills', () => {
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'skein-skills-'))
    await put({
      'models/main.ts': `export default { kind: 'model', name: '', model: () => { throw new Error('not now') } }`,
    })
  })
  afterEach(() => rm(dir, { recursive: true, force: true }))

  const put = async (files: Readonly<Record<string, string>>): Promise<void> => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(dir, path)), { recursive: true })
      await writeFile(join(dir, path), text)
    }
  }
  const mistakes = async (): Promise<readonly string[]> => {
    const refused: unknown = await loadAppWithTools(dir).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    return refused instanceof Error ? refused.message.split('\n').slice(1) : []
  }
  const skill = (name: string, more = ''): string => `---\nname: ${name}\ndescription: It helps.\n${more}---\nDo it.\n`

  it('E2: the skills of skills/ are those of the app, with their fields', async () => {
    await cp(five, join(dir, 'skills'), { recursive: true })
    await put({ 'skills/README.md': 'none', 'skills/.git/x': '', 'skills/form-filler/scripts/__pycache__/x.pyc': '' })
    const { app } = await loadAppWithTools(dir)
    expect([...app.skills.keys()]).toEqual(names)
    expect(app.skills.get('release-notes')).toMatchObject({
      license: 'Apache-2.0',
      metadata: { author: 'harbour', version: '1.0' },
      allowedTools: ['read', 'grep'],
    })
    expect([...(app.skills.get('form-filler')?.files.keys() ?? [])]).toEqual([
      'LICENSE.txt',
      'assets/blank.form',
      'references/dates.md',
      'scripts/fields.awk',
    ])
    expect(app.warnings).toEqual([])
  })

  it('E2: a broken skill is told with its file and line, and all of them at once', async () => {
    const long = 'x'.repeat(1025)
    await put({
      'skills/empty/SKILL.md': '',
      'skills/nothing/notes.md': 'no skill',
      'skills/plain/SKILL.md': '# A title\n',
      'skills/open/SKILL.md': '---\nname: open\n',
      'skills/yaml/SKILL.md': '---\nname: yaml\ndescription: [a\n---\nx',
      'skills/other/SKILL.md': skill('another'),
      'skills/Upper/SKILL.md': skill('Upper'),
      'skills/two--parts/SKILL.md': skill('two--parts'),
      'skills/long/SKILL.md': `---\nname: long\n\ndescription: ${long}\n---\nx`,
      'skills/typo/SKILL.md': '---\nname: typo\ndescripton: It helps.\n---\nx',
      'skills/body/SKILL.md': '---\nname: body\ndescription: x\n---\n\n',
      'skills/meta/SKILL.md': skill('meta', 'metadata:\n  tags: [a]\n'),
      'skills/far/SKILL.md': skill('far', `compatibility: ${'x'.repeat(501)}\n`),
      'skills/bytes/SKILL.md': 'x'.repeat(200_001),
      'prompts/p.md': '---\nskills: empty, good\n---\nUse the one that is broken.',
      'skills/good/SKILL.md': skill('good'),
    })
    const rule = 'a name is lowercase letters and digits, in parts with one "-" between them, 64 characters at most'
    expect(await mistakes()).toEqual([
      `- skills/Upper/SKILL.md:2: name: ${rule}`,
      '- skills/body/SKILL.md:6: it has no instructions below its front matter',
      '- skills/bytes/SKILL.md: it has 200001 bytes; 200000 is the limit',
      expect.stringMatching(/^- skills\/empty\/SKILL\.md:1: it is empty; write --- on the first line/),
      '- skills/far/SKILL.md:4: compatibility: it is longer than 500 characters',
      '- skills/long/SKILL.md:4: description: it is longer than 1024 characters',
      '- skills/meta/SKILL.md:5: metadata.tags: must be a text',
      '- skills/nothing: it has no SKILL.md; every folder here is a skill',
      '- skills/open/SKILL.md:1: its front matter has no end: write --- on a line below it',
      '- skills/other/SKILL.md:2: name: it is "another", and its folder "other"; rename one',
      expect.stringMatching(/^- skills\/plain\/SKILL\.md:1: no front matter: /),
      `- skills/two--parts/SKILL.md:2: name: ${rule}`,
      expect.stringMatching(/^- skills\/typo\/SKILL\.md:2: description: it needs one.* \(there is descripton, /),
      expect.stringMatching(/^- skills\/yaml\/SKILL\.md:4: its front matter is not YAML: /),
    ])
  })

  it('E2: no link leads out of a skill, and one skill has one home', async () => {
    await put({ 'skills/a/SKILL.md': skill('a'), 'skills/b/SKILL.md': skill('b'), 'other/a/SKILL.md': skill('a') })
    await symlink('/etc/hostname', join(dir, 'skills/a/host.txt'))
    await symlink('SKILL.md', join(dir, 'skills/b/copy.md'))
    await symlink('../other/a', join(dir, 'skills/c'))
    expect(await mistakes()).toEqual([
      '- skills/a/host.txt: it is a link that leads out of the skill; put the file itself there',
      '- skills/c: it is a link; copy the skill here, or name the folder that it is in with fromSkills',
    ])
    await rm(join(dir, 'skills/a/host.txt'))
    const sets = [fromSkills(pathToFileURL(join(dir, 'other'))), fromSkills(join(dir, 'skills')), fromSkills('./x')]
    await expect(loadAppWithTools(sets)).rejects.toThrow(
      new RegExp(
        `- ${join(dir, 'skills')}/a and file:.*/other/a are both the skill "a"; keep one\n` +
          `.*\n- fromSkills\\("./x"\\): give new URL\\('./skills', import.meta.url\\) or an absolute path$`,
      ),
    )
  })

  it('E2: a field that the format does not have is left out, and that is said', async () => {
    await put({ 'skills/a/SKILL.md': skill('a', 'version: 2\n') })
    expect((await loadAppWithTools(dir)).app.warnings).toEqual([
      'skills/a/SKILL.md:4: version is no field of the format; it is left out (see metadata)',
    ])
  })

  it('E2, D2: where bodies run in worker processes, skills are read all the same', async () => {
    await cp(five, join(dir, 'skills'), { recursive: true })
    await put({
      'agents/helper.md': '---\ndescription: Helps.\ntools: read\nskills: true\n---\nYou help.\n',
      'models/main.ts': `
        const usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }
        const steps = [
          [{ tool: 'load_skill', args: { name: 'data-analysis' } }],
          [{ tool: 'read_skill_file', args: { skill: 'data-analysis', path: 'scripts/mean.awk', saveAs: '/mean.awk' } }],
          [{ tool: 'read', args: { path: '/mean.awk' } }],
        ]
        const call = async ({ messages }) => {
          const results = messages.filter(({ role }) => role === 'tool')
          const calls = steps[results.length] ?? []
          const text = calls.length > 0 ? '' : results.map(({ text }) => text.split('\\n')[0]).join('; ')
          return { text, calls, finish: calls.length > 0 ? 'tool_calls' : 'stop', usage }
        }
        export default { kind: 'model', name: '', model: { name: 'm', call } }`,
    })
    const skein = await createSkein({ app: dir, backend: memory(), workers: { threads: 1 } })
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const text = await thread.send('go').text()
    await skein.close()
    expect(text).toBe(
      '<skill name="data-analysis">; /mean.awk: a copy of data-analysis/scripts/mean.awk (41 bytes); ' +
        '{ total += $1 } END { print total / NR }',
    )
  })

  it('E2: ten megabytes are refused before they are read', async () => {
    await put({ 'skills/big/SKILL.md': skill('big') + 'x'.repeat(10_000_000), 'skills/file/SKILL.md': skill('file') })
    await put({ 'skills/file/data.bin': 'x'.repeat(10_000_001) })
    expect(await mistakes()).toEqual([
      expect.stringMatching(/^- skills\/big\/SKILL\.md: it has \d+ bytes; 200000 is the limit$/),
      '- skills/file/data.bin: it has 10000001 bytes; 10000000 is the limit',
    ])
  })
})
