/** What a host process hands on to its workers, and what it says when they cannot load its app. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const host = fileURLToPath(new URL('./fixtures/load-host.mjs', import.meta.url))
const run = promisify(execFile)

it('D2: an app whose load ends the worker is told at the start, also where nothing else keeps the process alive', async () => {
  const { stdout } = await run(process.execPath, [host], { env: { PATH: process.env['PATH'], NODE_LOAD: 'exit' } })
  expect(stdout).toBe('APP_NOT_LOADED\n')
})

it('F3: a file of variables that the host was started with is not for workers', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-load-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, '.env'), `SKEIN_KEY=${'0123456789abcdef'.repeat(4)}\nMY_SECRET=hunter2hunter2\n`)
  for (const option of [[`--env-file=${join(folder, '.env')}`], ['--env-file', join(folder, '.env')]]) {
    const { stdout } = await run(process.execPath, [...option, host], { env: { PATH: process.env['PATH'] } })
    expect(stdout).toBe('[]\n')
  }
})
