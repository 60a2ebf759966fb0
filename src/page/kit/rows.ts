/**
 * Rows of one height in a scrolling box, of which only those in sight are in the document. Owns where it is scrolled.
 */
import { h } from './element.js'
import type { ComponentChildren, Ref, VNode } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

export const rowHeight = 24
const spare = 6

export interface RowWindow {
  readonly from: number
  readonly to: number
  readonly top: number
  readonly height: number
  readonly width: number
}

export interface RowScroll {
  readonly box: Ref<HTMLDivElement>
  readonly element: () => HTMLDivElement | null
  readonly sight: RowWindow
  /** Scrolls as little as needed. */
  reveal(index: number): void
}

export function useRowScroll(count: number, headerHeight = 0): RowScroll {
  const box = useRef<HTMLDivElement>(null)
  const [place, setPlace] = useState({ top: 0, height: 600, width: 1_000 })
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return undefined
    const read = (): void => {
      const next = { top: element.scrollTop, height: element.clientHeight, width: element.clientWidth }
      setPlace((now) => (now.top === next.top && now.height === next.height && now.width === next.width ? now : next))
    }
    const observer = new ResizeObserver(read)
    observer.observe(element)
    element.addEventListener('scroll', read, { passive: true })
    read()
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', read)
    }
  }, [])
  const first = Math.floor(place.top / rowHeight)
  const from = Math.max(0, first - spare)
  const to = Math.min(count, first + Math.ceil(place.height / rowHeight) + spare)
  return {
    box,
    element: () => box.current,
    sight: { from, to, ...place },
    reveal(index) {
      const element = box.current
      if (!element) return
      const top = index * rowHeight
      const room = element.clientHeight - headerHeight
      if (top < element.scrollTop) element.scrollTop = top
      else if (top + rowHeight > element.scrollTop + room) element.scrollTop = top + rowHeight - room
    },
  }
}

/** The room of all rows, with those in sight at their places. */
export function RowSpace({ count, children }: { count: number; children: ComponentChildren }): VNode {
  return h('div', { class: 'row-space', role: 'presentation', style: { height: `${count * rowHeight}px` } }, children)
}
