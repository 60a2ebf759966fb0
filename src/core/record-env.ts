/**
 * Records about variables: values as they are stored (sealed), and who waits for one.
 */
import type { EnvChange } from './env.js'

/** Values of the thread were set or taken away, by someone or with its parent's: calls see it from the next step on. */
export interface EnvChanged extends EnvChange {
  readonly type: 'env.changed'
}
