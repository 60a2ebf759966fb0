/**
 * Keys of the page. A screen says which it takes; none fires in a text field, and no single key acts on the world.
 * Owns what is pressed first of two (`g t`).
 */
import { useEffect, useRef } from 'preact/hooks'
import { pageClock } from './clock.js'

export type KeyMap = Readonly<Record<string, () => void>>

interface Layer {
  keys: KeyMap
}

const layers: Layer[] = []
let first = ''
let cancelFirst: (() => void) | undefined
const pairMs = 1_000

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
    target.getAttribute('type') !== 'range'
  )
}

/** A button that has the focus takes these itself. */
function isForControl(event: KeyboardEvent): boolean {
  const isPress = event.key === 'Enter' || event.key === ' '
  return isPress && event.target instanceof Element && event.target.closest('button, a, summary, [role=tab]') !== null
}

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || isForControl(event)) return
  if (isTyping(event.target) && event.key !== 'Escape') return
  const pressed = first === '' ? event.key : `${first} ${event.key}`
  cancelFirst?.()
  first = ''
  // The innermost that takes it has it.
  for (const { keys } of layers.toReversed()) {
    const act = keys[pressed]
    if (act) {
      event.preventDefault()
      return act()
    }
  }
  if (layers.some(({ keys }) => Object.keys(keys).some((key) => key.startsWith(`${pressed} `)))) {
    first = pressed
    cancelFirst = pageClock.after(pairMs, () => {
      first = ''
    })
  }
}

export function startKeys(): void {
  addEventListener('keydown', onKey)
}

/** While the component is there. */
export function useKeys(keys: KeyMap): void {
  const layer = useRef<Layer>({ keys })
  layer.current.keys = keys
  useEffect(() => {
    const own = layer.current
    layers.push(own)
    return () => void layers.splice(layers.indexOf(own), 1)
  }, [])
}

/** Escape leaves a text field before it closes anything. */
export function leaveField(): boolean {
  const { activeElement } = document
  if (!isTyping(activeElement) || !(activeElement instanceof HTMLElement)) return false
  activeElement.blur()
  return true
}
