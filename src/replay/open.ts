/** The door to replay: it is loaded when it is first used, because it brings the whole runtime with it. */
import type { ThreadExport } from '../runtime/handles/thread-export.js'
import type { PinOptions, ReplayOptions, ReplayReport } from './replay.js'
import type { ReplaySource } from './source.js'

/**
 * Asks the definitions of today for every decision that a recorded thread has in its journal, and names the first that
 * would be another. Nothing is run: no tool, no child, and a model only with `against: 'models'`.
 */
export async function replay(source: ReplaySource, options: ReplayOptions): Promise<ReplayReport> {
  const module = await import('./replay.js')
  return module.replayThread(source, options)
}

/**
 * An exported thread with what its model is asked on the definitions of today, step by step: the system prompt and the
 * tools, of which a journal has nothing. A replay of it compares these, too.
 */
export async function pinRequests(source: ReplaySource, options: PinOptions): Promise<ThreadExport> {
  const module = await import('./replay.js')
  return module.pinThread(source, options)
}
