/** Where the key for secrets comes from, and who else can read it. */
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keySource } from '../../../../src/runtime/secrets/key-source.js'
import { memory } from '../../../../src/backend/memory/memory.js'
import { connectSkein } from '../../../../src/runtime/handles/client.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { tinyApp } from '../../../helpers/app.js'

const hex = '0123456789abcdef'.repeat(4)
const bytes = Buffer.from(hex, 'hex')
let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'skein-key-'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const fileOf = (name: string, text: string, mode = 0o600): string => {
  const path = join(dir, name)
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}
const refusal = (message: RegExp) => ({ code: 'BAD_OPTION', message: expect.stringMatching(message) })

describe('the key', () => {
  it('F3: is given as text, by a function, by a file, or by the environment', async () => {
    const path = fileOf('good', `${hex}\n`)
    expect(await keySource({ key: hex }, {})?.read()).toEqual(bytes)
    expect(await keySource({ key: async () => hex }, {})?.read()).toEqual(bytes)
    expect(await keySource({ keyFile: path }, {})?.read()).toEqual(bytes)
    expect(await keySource({}, { SKEIN_KEY_FILE: path })?.read()).toEqual(bytes)
    expect(await keySource({}, { SKEIN_KEY: hex })?.read()).toEqual(bytes)
    expect(keySource({}, { SKEIN_KEY_FILE: '' })).toBeUndefined()
    expect(
      await keySource({}, { SKEIN_KEY_FILE: fileOf('words', 'correct horse battery staple\n') })?.read(),
    ).toHaveLength(32)
  })

  it('two of a kind are a mistake; an option counts before the environment', async () => {
    expect(() => keySource({ key: hex, keyFile: 'x' }, {})).toThrow(/both key and keyFile/)
    expect(() => keySource({}, { SKEIN_KEY: hex, SKEIN_KEY_FILE: 'x' })).toThrow(/both SKEIN_KEY and SKEIN_KEY_FILE/)
    expect(await keySource({ key: hex }, { SKEIN_KEY: 'other', SKEIN_KEY_FILE: 'x' })?.read()).toEqual(bytes)
  })

  it('a file that is not there, holds no key or is open to others is refused, and none is made', async () => {
    const read = (path: string) => keySource({ keyFile: path }, {})?.read()
    await expect(read(join(dir, 'none'))).rejects.toMatchObject(refusal(/none is not there/))
    await expect(read(dir)).rejects.toMatchObject(refusal(/is a directory/))
    await expect(read(fileOf('open', hex, 0o644))).rejects.toMatchObject(refusal(/mode 0644/))
    await expect(read(fileOf('weak', 'short'))).rejects.toMatchObject(refusal(/weak has only 5 characters/))
    await expect(read(fileOf('long', hex.repeat(100)))).rejects.toMatchObject(refusal(/more than 1024 bytes/))
    expect(await read(fileOf('mounted', hex, 0o440))).toEqual(bytes)
  })

  it('a function that fails or gives no text is told, without what it gave', async () => {
    const read = (key: () => string | Promise<string>) => keySource({ key }, {})?.read()
    await expect(read(() => Promise.reject(new Error('vault is sealed')))).rejects.toMatchObject(
      refusal(/failed: vault is sealed/),
    )
    // @ts-expect-error: of plain JavaScript
    await expect(read(() => 7)).rejects.toMatchObject(refusal(/gave number/))
    await expect(connectSkein({ backend: memory(), key: 'a', keyFile: 'b' })).rejects.toMatchObject(refusal(/both/))
  })

  it('a host says at once what is wrong with the file', async () => {
    await expect(
      createSkein({ app: tinyApp({ script: [] }).app, backend: memory(), keyFile: join(dir, 'none') }),
    ).rejects.toMatchObject(refusal(/none is not there/))
  })

  it('a descriptor is a file too', () => {
    const script = `import { connectSkein, memory } from 'skein'
      const { keySource } = await import(${JSON.stringify(new URL('../../../../dist/src/runtime/secrets/key-source.js', import.meta.url).href)})
      console.log((await keySource({}).read()).toString('hex'))`
    const said = execFileSync(
      'sh',
      [
        '-c',
        '(printf %s "$KEY") | (exec 3<&0 </dev/null; unset KEY; SKEIN_KEY_FILE=/dev/fd/3 exec "$0" ' +
          '--input-type=module -e "$1")',
        process.execPath,
        script,
      ],
      {
        env: { PATH: process.env['PATH'], KEY: hex },
        cwd: fileURLToPath(new URL('../../../..', import.meta.url)),
        encoding: 'utf8',
      },
    )
    expect(said.trim()).toBe(hex)
  })
})

// Elsewhere the environment of a process is not a file.
describe.runIf(process.platform === 'linux')('SKEIN_KEY', () => {
  it('F3: a child process does not find it at its parent, who still has it', async () => {
    const script = `
      import { execFileSync } from 'node:child_process'
      import { createSkein, memory, hostTools } from 'skein'
      const look = () => execFileSync('sh', ['-c', 'tr "\\\\0" "\\\\n" < /proc/$PPID/environ'], { encoding: 'utf8', env: { PATH: process.env.PATH } })
      const before = look().includes(process.env.SKEIN_KEY)
      const skein = await createSkein({ app: hostTools({ rootDir: '.' }), backend: memory() })
      const after = look()
      console.log(JSON.stringify({ before, after: after.includes(process.env.SKEIN_KEY), others: after.includes('OTHER=kept'), own: process.env.SKEIN_KEY, last: after.includes('ZZ=last') }))
      await skein.close()`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      env: { PATH: process.env['PATH'], OTHER: 'kept', SKEIN_KEY: hex, ZZ: 'last' },
      cwd: fileURLToPath(new URL('../../../..', import.meta.url)),
    })
    expect(JSON.parse(stdout)).toEqual({ before: true, after: false, others: true, own: hex, last: true })
  })
})
