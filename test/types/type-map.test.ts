/** The names of an app, known to the compiler: `skein types` writes them. test/install asks the oldest compiler, too. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { complaintsIn, declaration, linesOf, mentions } from '../helpers/named-app.js'
import { place } from '../src/cli/binary.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A folder inside the project, so that `skein` is this package. */
function project(files: Readonly<Record<string, string>>): string {
  mkdirSync(join(root, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(root, '.cache/names-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const compilerOptions = { module: 'nodenext', strict: true, noEmit: true, skipLibCheck: true, types: [] }
  for (const [name, text] of Object.entries({ 'tsconfig.json': JSON.stringify({ compilerOptions }), ...files })) {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

function compile(folder: string): Promise<string> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  return new Promise((resolve) => {
    execFile(process.execPath, [tsc, '-p', '.'], { cwd: folder }, (_, stdout) => resolve(stdout))
  })
}

it('E3: with the names of the app a wrong one is a type error, without them every text is a name', async () => {
  expect(complaintsIn(await compile(project({ 'names.ts': mentions, 'skein.d.ts': declaration })))).toEqual(
    linesOf(mentions, '// wrong'),
  )
  expect(await compile(project({ 'names.ts': mentions }))).toBe('')
})

it('E3, C1: skein types writes the names, and --check says whether they are those of the app', async () => {
  const folder = project({
    'app/models/fast.ts': `import { defineModel } from 'skein'\nexport default defineModel({ model: () => undefined })\n`,
    'app/agents/team.md': '---\ndescription: A team.\ntools: read\nskills: true\n---\nYou help.\n',
    'app/prompts/lead.ts':
      `import { definePrompt } from 'skein'\n` +
      `export default definePrompt({ prompt: 'x', model: 'fast', tools: ['raed'] })\n`,
    'app/skills/code-review/SKILL.md': '---\nname: code-review\ndescription: Reviews.\n---\nRead it twice.\n',
  })
  const { skein } = place()
  const app = join(folder, 'app')
  const file = join(app, 'skein.d.ts')
  expect(await skein(['types', app])).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/names the tool "raed"; did you mean "read"\?/),
  })
  writeFileSync(
    join(app, 'prompts/lead.ts'),
    readFileSync(join(app, 'prompts/lead.ts'), 'utf8').replace("'raed'", "'read', { name: 'team' }"),
  )
  expect(await skein(['types', app, '--check'])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `${file} is not there: skein types ${app} writes it\n`,
  })
  expect(await skein(['types', app])).toMatchObject({
    code: 0,
    stdout: `${file} has the 15 names of the app now\n`,
    stderr: '',
  })
  const written = readFileSync(file, 'utf8')
  expect(written).toContain(
    `    "agent team": true\n    "model fast": true\n    "prompt lead": true\n    "prompt team": true\n` +
      `    "skill code-review": true\n    "tool ask_user_question": true\n`,
  )
  expect(await compile(folder)).toBe('')
  // A formatter may have been there.
  writeFileSync(file, written.replaceAll('"', "'"))
  expect(await skein(['types', app, '--check'])).toMatchObject({ code: 0, stderr: '' })
  writeFileSync(join(app, 'agents/other.md'), '---\nname: other\n---\nYou, too.\n')
  expect(await skein(['types', app, '--check', '--json'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('"stale":true'),
  })
  writeFileSync(
    join(app, 'prompts/wrong.ts'),
    readFileSync(join(app, 'prompts/lead.ts'), 'utf8').replace("'team'", "'taem'"),
  )
  expect(await compile(folder)).toMatch(/^app\/prompts\/wrong\.ts\(2,.* is not assignable to type /)
})
