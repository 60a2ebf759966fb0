/** Who speaks, for people. */
import type { Message } from '../../index.js'
import { oneLine } from '../format.js'

type Speaker = Pick<Message, 'side' | 'label'>

/** Undefined where there is one speaker, and nobody gave it a name. */
export function speakerOf({ side, label }: Speaker): string | undefined {
  return label === undefined ? side && `side ${side.toUpperCase()}` : oneLine(label, 100)
}
