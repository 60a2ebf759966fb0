/**
 * When what has come is shown: ten times a second at most, which is the main cost of a busy page, and less often where
 * a showing takes long, so that a slow machine has time for its user; at once for a quarter of a second after the user
 * has done something; and not while the view is frozen.
 */
import { signal } from '@preact/signals'
import { pageClock, steadyNow } from '../kit/clock.js'

/** Goes up with each showing of new data: views that show data read it. */
export const showings = signal(0)
/** The user has frozen the view; data goes on. */
export const isFrozen = signal(false)

const slowMs = 100
const inputMs = 250
/** A showing is at most one part of so many of the time. */
const restParts = 4
const longestRestMs = 250
let costMs = 0
let inputAt = -Infinity
let shownAt = -Infinity
let isDirty = false
let isPlanned = false

function show(): void {
  isPlanned = false
  if (!isDirty || isFrozen.peek()) return
  isDirty = false
  shownAt = steadyNow()
  showings.value++
  // After the frame that this one makes.
  pageClock.after(0, () => {
    costMs = steadyNow() - shownAt
  })
}

function plan(): void {
  if (isPlanned || isFrozen.peek()) return
  isPlanned = true
  const isQuick = steadyNow() - inputAt < inputMs
  const restMs = Math.min(longestRestMs, Math.max(slowMs, costMs * restParts))
  const waitMs = isQuick ? 0 : Math.max(0, shownAt + restMs - steadyNow())
  if (waitMs > 0) pageClock.after(waitMs, () => requestAnimationFrame(show))
  else requestAnimationFrame(show)
}

export function dataChanged(): void {
  isDirty = true
  // A page that nobody sees has no frames.
  if (document.hidden) isPlanned = false
  plan()
}

export function freezeView(on: boolean): void {
  isFrozen.value = on
  if (!on) dataChanged()
}

export function startFlush(): void {
  const note = (): void => {
    inputAt = steadyNow()
  }
  for (const event of ['keydown', 'pointerdown', 'wheel'])
    addEventListener(event, note, { passive: true, capture: true })
  document.addEventListener('visibilitychange', () => !document.hidden && plan())
}
