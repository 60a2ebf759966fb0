/** A record as the machine sees it: its type, and the few facts that guards ask for. */
import type { HoldReason, RecordType, StopReason } from '../../src/core/records/record.js'

export interface Signal {
  readonly type: RecordType
  /** Calls of the step without a result, after this record. */
  readonly open: number
  /** The same number when none of them can go on before someone has decided; less otherwise. */
  readonly held: number
  /** What the first held call waits for. */
  readonly why?: HoldReason | undefined
  readonly reason?: StopReason | undefined
  /** Of a thread that begins with a past: where it stands, unless a step is under way. */
  readonly stands?: 'idle' | 'failed' | 'waiting.variables' | undefined
}
