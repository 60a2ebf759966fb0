/** `edit` on a real directory. */
import type { EditArgs } from '../../src/tools/own/args.js'
import type { HostToolSettings } from '../../src/tools/own/host-tools.js'
import { checkPatch, checkEditSize } from '../builtins/edit.js'
import { patchText } from '../builtins/patch.js'
import { touching } from '../builtins/path.js'
import { decodeText, notText } from '../builtins/text.js'
import { openInside, openRoot, pathInside, replaceInside } from './root.js'
import type { Root } from './root.js'

export async function run(settings: HostToolSettings, { path, patch }: EditArgs): Promise<string> {
  const { rootDir, maxOutputBytes } = settings
  checkPatch(path, patch, maxOutputBytes)
  const root = await openRoot(rootDir)
  await touching(path, async () => {
    const real = await pathInside(root, path)
    await replaceInside(root, real, {
      content: patchText(path, await textAt(root, real, path), patch),
      owner: settings,
    })
  })
  return 'ok'
}

export async function textAt(root: Root, real: string, path: string): Promise<string> {
  const handle = await openInside(root, real)
  try {
    checkEditSize(path, (await handle.stat()).size)
    const text = decodeText(await handle.readFile())
    if (text === undefined) throw notText(path)
    return text
  } finally {
    await handle.close()
  }
}
