/**
 * `state.runCode` before the sandbox is loaded: the engine is large, and most bodies never ask for it.
 */
import type { CodeRun, RunCode } from '../../src/tools/code.js'

/** `signal` is asked for when there is code to run. */
export function lazyRunCode(signal: () => AbortSignal): RunCode {
  let loaded: Promise<RunCode> | undefined
  return (source, options) => {
    loaded ??= import('../sandbox/run-code.js').then(({ createRunCode }) => createRunCode({ signal: signal() }))
    // Begun where the body asks, not where it awaits: a run that nobody awaits runs all the same.
    const begun = loaded.then((run): { readonly run: CodeRun } => ({ run: run(source, options) }))
    const result = begun.then(({ run }) => run)
    return Object.assign(result, {
      terminate: (reason?: string) => void begun.then(({ run }) => run.terminate(reason)),
    })
  }
}
