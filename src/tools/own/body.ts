/**
 * Loads the bodies of Skein's own tools from workers/ with their first call: an app that only names the tools does not
 * pay for a shell and a diff library.
 */
import { importWorker } from '../worker-url.js'

interface BodyModule {
  readonly run: (...input: readonly unknown[]) => unknown
}

/** `name` is a module in workers/ that exports `run`. */
export async function runBody(name: string, ...input: readonly unknown[]): Promise<unknown> {
  const { run } = (await importWorker(name)) as BodyModule
  return run(...input)
}
