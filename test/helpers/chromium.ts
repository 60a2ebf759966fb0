/** Debian's Chromium, installed where it is missing: tests of the page look at it with a real browser. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'

const run = promisify(execFile)
const path = '/usr/bin/chromium'

/** Its path. Tests that need no browser go on meanwhile. */
export async function findChromium(): Promise<string> {
  if (existsSync(path)) return path
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  try {
    await run('apt-get', ['update', '-qq'], { env })
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], { env })
  } catch (cause) {
    throw new Error(`tests of the page need Chromium at ${path}, and Debian's package could not be installed`, {
      cause,
    })
  }
  return path
}
