/**
 * Bodies of Skein's own tools: they are in workers/ and loaded when first called, so that an app which names the tools
 * does not pay for a shell and a diff library before one of them is used.
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
