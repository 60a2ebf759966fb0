/** `read` on a real directory. */
import type { ReadArgs } from '../../src/tools/own/args.js'
import type { HostToolSettings } from '../../src/tools/own/host-tools.js'
import { pickLines } from '../builtins/lines.js'
import { touching } from '../builtins/path.js'
import { tooLarge } from '../builtins/read.js'
import { openInside, openRoot, pathInside } from './root.js'

export async function run(
  { rootDir, maxOutputBytes }: HostToolSettings,
  { path, offset, limit }: ReadArgs,
): Promise<string> {
  const root = await openRoot(rootDir)
  return touching(path, async () => {
    const handle = await openInside(root, await pathInside(root, path))
    try {
      const { size } = await handle.stat()
      if (offset === undefined && limit === undefined && size > maxOutputBytes)
        throw tooLarge(path, size, maxOutputBytes)
      const chunks = handle.createReadStream({ autoClose: false })
      return await pickLines(chunks, { path, offset: offset ?? 1, limit: limit ?? Infinity, maxBytes: maxOutputBytes })
    } finally {
      await handle.close()
    }
  })
}
