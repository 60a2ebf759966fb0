/** Reading the past that a thread goes back to, when all that was to be undone is: an effect like any other. */
import type { RewindEffect } from '../../core/effect.js'
import { ownPast } from '../journal/past.js'
import type { EffectOwner, RunningEffect, Services } from '../services.js'

export function readPast(
  { journal, blobs }: Pick<Services, 'journal' | 'blobs'>,
  owner: EffectOwner,
  { key, to }: RewindEffect,
): RunningEffect {
  ownPast({ journal, blobs }, owner.state.id, to).then(
    (past) => owner.land({ kind: 'past', key, past }),
    (thrown: unknown) => owner.storeFailed(thrown),
  )
  return { abort: () => undefined }
}
