/** Installs Debian's Chromium where it is missing: tests of the page look at it with a real browser. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

if (!existsSync('/usr/bin/chromium')) {
  const run = (command: string, ...args: readonly string[]): unknown =>
    execFileSync(command, args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  run('apt-get', 'update', '-qq')
  run('apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'chromium')
}
