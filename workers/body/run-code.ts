/**
 * `state.runCode`, which loads the sandbox with the first run: the engine is large, and most bodies never use it.
 */
import type { CodeRun, RunCode } from '../../src/tools/code.js'

/** `signal` is called with the first run: making the signal of a call costs something. */
export function lazyRunCode(signal: () => AbortSignal): RunCode {
  let loaded: Promise<RunCode> | undefined
  return (source, options) => {
    loaded ??= import('../sandbox/run-code.js').then(({ createRunCode }) => createRunCode({ signal: signal() }))
    // Started even if nobody awaits it. In an object, because `then` would otherwise wait for the result of the run.
    const begun = loaded.then((run): { readonly run: CodeRun } => ({ run: run(source, options) }))
    const result = begun.then(({ run }) => run)
    return Object.assign(result, {
      terminate: (reason?: string) => void begun.then(({ run }) => run.terminate(reason)),
    })
  }
}
