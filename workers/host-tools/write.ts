/** `write` on a real directory. */
import type { WriteArgs } from '../../src/tools/own/args.js'
import type { HostToolSettings } from '../../src/tools/own/host-tools.js'
import { touching } from '../builtins/path.js'
import { checkContent } from '../builtins/write.js'
import { openRoot, pathInside, replaceInside } from './root.js'

export async function run(settings: HostToolSettings, { path, content }: WriteArgs): Promise<string> {
  const { rootDir, maxOutputBytes } = settings
  checkContent(path, content, maxOutputBytes)
  const root = await openRoot(rootDir)
  await touching(path, async () => replaceInside(root, await pathInside(root, path), { content, owner: settings }))
  return 'ok'
}
