/** `grep` on a real directory: with ripgrep where there is one, which is faster and knows no runaway pattern. */
import { stat } from 'node:fs/promises'
import { relative } from 'node:path'
import { SkeinError, isSkeinError } from '../../src/core/failure.js'
import { patternOf } from '../../src/files/search/pattern.js'
import type { GrepArgs } from '../../src/tools/own/args.js'
import type { HostToolSettings } from '../../src/tools/own/host-tools.js'
import { listMatches } from '../builtins/grep.js'
import { touching } from '../builtins/path.js'
import { runProcess } from './process.js'
import { openRoot, pathInside } from './root.js'
import type { Root } from './root.js'
import { searchTree, skipped } from './walk.js'

export async function run(
  settings: HostToolSettings,
  { pattern, path = '.' }: GrepArgs,
  signal: AbortSignal,
): Promise<string> {
  const root = await openRoot(settings.rootDir)
  return touching(path, async () => {
    const real = await pathInside(root, path)
    await stat(real)
    const found = await ripgrep(settings, { root, pattern, real, signal })
    if (found !== undefined) return found
    const matches = await searchTree(root, real, { pattern: await patternOf(pattern), signal })
    return listMatches(matches, settings.maxOutputBytes)
  })
}

interface Search {
  readonly root: Root
  readonly pattern: string
  readonly real: string
  readonly signal: AbortSignal
}

/** Undefined: there is none on this machine. */
async function ripgrep(
  { timeoutMs, maxOutputBytes }: HostToolSettings,
  { root, pattern, real, signal }: Search,
): Promise<string | undefined> {
  const looks = [
    '--no-config',
    '--line-number',
    '--no-heading',
    '--with-filename',
    '--color=never',
    '--sort=path',
    '--no-ignore',
    '--hidden',
  ]
  const passes = [...skipped].map((name) => `--glob=!**/${name}/`)
  const args = [...looks, ...passes, '--regexp', pattern, '--', relative(root.dir, real) || '.']
  try {
    const { exitCode, output } = await runProcess({
      cmd: 'rg',
      args,
      cwd: root.dir,
      home: root.dir,
      fence: { isolation: 'none', allowNetwork: true },
      timeoutMs,
      maxOutputBytes,
      signal,
    })
    if (exitCode === 0) return output.replace(/\n$/, '').replaceAll(/^\.\//gm, '')
    if (exitCode === 1) return ''
    throw new SkeinError('TOOL_GREP_FAILED', `the search for ${JSON.stringify(pattern)} failed: ${output}`)
  } catch (thrown) {
    if (isSkeinError(thrown) && thrown.code === 'TOOL_COMMAND_FAILED') return undefined
    throw thrown
  }
}
