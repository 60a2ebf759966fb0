/**
 * Keeps what V8 compiled of the command line's modules for the next run, where Node can (22.8 and newer).
 *
 * - In the user's own folder, not in Node's default, which is in the shared temporary folder: what is read from there
 *   is run, and another user of the machine could have written it.
 * - Node's own variables win: `NODE_COMPILE_CACHE` names another folder, `NODE_DISABLE_COMPILE_CACHE=1` wants none.
 * - A folder that cannot be written costs nothing: Node goes on without.
 */
import module from 'node:module'
import { join } from 'node:path'

/** To be called before the modules that it is for are imported. */
export function keepCompiledModules({ NODE_COMPILE_CACHE, XDG_CACHE_HOME, HOME }: NodeJS.ProcessEnv): void {
  const caches = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'))
  if (NODE_COMPILE_CACHE || !caches) return
  // The types are those of Node 20, which has no such function.
  if ('enableCompileCache' in module && typeof module.enableCompileCache === 'function')
    module.enableCompileCache(join(caches, 'skein'))
}
