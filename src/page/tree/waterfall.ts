/**
 * The waterfall: one time axis over the rows in sight, drawn on a canvas beside them. It is decoration: the numbers of
 * every bar are in the details of its row. It reads the same colours as the rest of the page.
 */
import { durationWords, timeOfDay } from '../kit/format.js'
import { rowHeight } from '../kit/rows.js'
import type { PageSpan, TreeStore } from '../store/tree-store.js'
import { isOver } from '../store/below.js'
import type { TreeLine } from './flatten.js'

export interface WaterfallView {
  readonly store: TreeStore
  readonly lines: readonly TreeLine[]
  readonly sight: { readonly from: number; readonly to: number; readonly top: number }
  readonly size: { readonly width: number; readonly height: number }
  readonly window: readonly [number, number]
  readonly now: number
  readonly isLive: boolean
  readonly selected: string | undefined
  readonly critical: ReadonlySet<string>
}

interface Palette {
  readonly [name: string]: string
}

const names = [
  'model',
  'tool',
  'person',
  'child',
  'queue',
  'bad',
  'unknown',
  'line',
  'muted',
  'now',
  'selected',
  'critical',
  'panel',
]

function paletteOf(canvas: HTMLCanvasElement): Palette {
  const style = getComputedStyle(canvas)
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--draw-${name}`).trim() || '#888']))
}

const headHeight = 24
/** Of the words that say what lies beyond the edge. */
const laterWidth = 110
const barTop = 7
const barHeight = 10

const ticks = [100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 864e5]

export class Waterfall {
  readonly #canvas: HTMLCanvasElement
  #palette: Palette | undefined
  #hatch: CanvasPattern | null = null

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas
  }

  /** Colours have changed. */
  forget(): void {
    this.#palette = undefined
  }

  draw(view: WaterfallView): void {
    const context = this.#canvas.getContext('2d')
    if (!context || view.size.width < 20) return
    const ratio = devicePixelRatio || 1
    const [width, height] = [Math.round(view.size.width * ratio), Math.round(view.size.height * ratio)]
    if (this.#canvas.width !== width || this.#canvas.height !== height) {
      this.#canvas.width = width
      this.#canvas.height = height
    }
    const palette = (this.#palette ??= this.#read(context))
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.clearRect(0, 0, view.size.width, view.size.height)
    const pen = new Pen(context, palette, view, this.#hatch)
    pen.axis()
    pen.rows()
    pen.now()
  }

  #read(context: CanvasRenderingContext2D): Palette {
    const palette = paletteOf(this.#canvas)
    const tile = document.createElement('canvas')
    tile.width = 6
    tile.height = 6
    const pen = tile.getContext('2d')
    if (pen) {
      pen.strokeStyle = palette['queue'] ?? ''
      pen.lineWidth = 1.5
      pen.beginPath()
      pen.moveTo(-1, 7)
      pen.lineTo(7, -1)
      pen.moveTo(-4, 4)
      pen.lineTo(4, -4)
      pen.moveTo(2, 10)
      pen.lineTo(10, 2)
      pen.stroke()
    }
    this.#hatch = context.createPattern(tile, 'repeat')
    return palette
  }
}

class Pen {
  readonly #context: CanvasRenderingContext2D
  readonly #palette: Palette
  readonly #view: WaterfallView
  readonly #hatch: CanvasPattern | null
  readonly #perMs: number

  // oxlint-disable-next-line eslint/max-params -- what is drawn with, and what is drawn
  constructor(context: CanvasRenderingContext2D, palette: Palette, view: WaterfallView, hatch: CanvasPattern | null) {
    this.#context = context
    this.#palette = palette
    this.#view = view
    this.#hatch = hatch
    const [from, to] = view.window
    this.#perMs = view.size.width / Math.max(1, to - from)
  }

  #x(at: number): number {
    return (at - this.#view.window[0]) * this.#perMs
  }

  #colour(name: string): string {
    return this.#palette[name] ?? '#888'
  }

  axis(): void {
    const { window: between, size } = this.#view
    const [from, to] = between
    const context = this.#context
    const apart = ticks.find((ms) => ms * this.#perMs >= 84) ?? 864e5
    context.font = '11px system-ui, sans-serif'
    context.textBaseline = 'middle'
    for (let at = 0; at <= to - from; at += apart) {
      const x = Math.round(at * this.#perMs) + 0.5
      context.strokeStyle = this.#colour('line')
      context.beginPath()
      context.moveTo(x, at === 0 ? headHeight : headHeight - 5)
      context.lineTo(x, size.height)
      context.stroke()
      if (x + 60 > size.width - (this.#later ? laterWidth : 0)) break
      context.fillStyle = this.#colour('muted')
      context.fillText(at === 0 ? timeOfDay(from) : `+${tickWords(at)}`, x + 4, headHeight / 2)
    }
  }

  rows(): void {
    const { lines, sight, size } = this.#view
    const context = this.#context
    context.save()
    context.beginPath()
    context.rect(0, headHeight, size.width, size.height - headHeight)
    context.clip()
    for (let index = sight.from; index < sight.to; index++) {
      const line = lines[index]
      if (line) this.#row(line, headHeight + index * rowHeight - sight.top)
    }
    context.restore()
  }

  #row({ thread }: TreeLine, top: number): void {
    const { store, window: between, size, selected, now } = this.#view
    const row = store.row(thread)
    if (!row) return
    const context = this.#context
    if (row.thread === selected) {
      context.fillStyle = this.#colour('selected')
      context.fillRect(0, top, size.width, rowHeight)
    }
    const until = isOver(row) ? row.updatedAt : now
    const [left, right] = [Math.max(0, this.#x(row.createdAt)), Math.min(size.width, this.#x(until))]
    if (right > 0 && left < size.width) {
      context.fillStyle = this.#colour('line')
      context.fillRect(left, top + rowHeight / 2 - 0.5, Math.max(1, right - left), 1)
    }
    const faults: PageSpan[] = []
    let isInSight = false
    let isEarlier = false
    store.eachSpan(row.thread, (span) => {
      const end = span.endedAt ?? now
      if (end < between[0]) isEarlier = true
      else if (span.queuedAt <= between[1]) {
        isInSight = true
        this.#bar(span, top)
        if (span.state === 'failed' || span.state === 'unknown') faults.push(span)
      }
    })
    // Above what came after them.
    for (const { endedAt = now, state } of faults) this.#diamond(this.#x(endedAt), top + rowHeight / 2, state)
    if (isEarlier && !isInSight) {
      context.fillStyle = this.#colour('muted')
      context.fillText('‹ earlier', 4, top + rowHeight / 2)
    }
  }

  #bar(span: PageSpan, top: number): void {
    const { now, critical } = this.#view
    const context = this.#context
    const end = span.endedAt ?? now
    const began = span.startedAt ?? end
    const [x0, x1, x2] = [this.#x(span.queuedAt), this.#x(began), this.#x(end)]
    const isThin = span.kind === 'child'
    const y = top + (isThin ? barTop + 3 : barTop)
    const tall = isThin ? 4 : barHeight
    if (x1 - x0 > 0.5 && this.#hatch) {
      context.fillStyle = this.#hatch
      context.fillRect(x0, top + barTop, x1 - x0, barHeight)
    }
    if (span.startedAt !== undefined) {
      context.globalAlpha = span.state === 'stale' || span.state === 'stopped' ? 0.45 : 1
      context.fillStyle = this.#colour(span.kind)
      context.fillRect(x1, y, Math.max(1.5, x2 - x1 - 0.5), tall)
      context.globalAlpha = 1
    }
    if (critical.has(span.id)) {
      context.fillStyle = this.#colour('critical')
      context.fillRect(x0, top + rowHeight - 4, Math.max(2, x2 - x0), 2)
    }
  }

  #diamond(x: number, y: number, state: PageSpan['state']): void {
    const context = this.#context
    context.fillStyle = this.#colour(state === 'failed' ? 'bad' : 'unknown')
    context.strokeStyle = this.#colour('panel')
    context.beginPath()
    context.moveTo(x, y - 5.5)
    context.lineTo(x + 5.5, y)
    context.lineTo(x, y + 5.5)
    context.lineTo(x - 5.5, y)
    context.closePath()
    context.fill()
    context.stroke()
  }

  now(): void {
    const { now, size, isLive } = this.#view
    const x = Math.round(this.#x(now)) - 0.5
    if (x > size.width) return this.#sayLater()
    if (x < 0) return
    const context = this.#context
    context.strokeStyle = this.#colour(isLive ? 'now' : 'muted')
    context.setLineDash(isLive ? [] : [3, 3])
    context.beginPath()
    context.moveTo(x, headHeight - 6)
    context.lineTo(x, size.height)
    context.stroke()
    context.setLineDash([])
  }

  /** How long what is still open goes on beyond the edge; undefined where it does not. */
  get #later(): number | undefined {
    const { store, now, window: between } = this.#view
    return now > between[1] && store.below(store.root).open > 0 ? now - between[1] : undefined
  }

  /** Nothing is cut without a word. */
  #sayLater(): void {
    if (this.#later === undefined) return
    const context = this.#context
    context.fillStyle = this.#colour('muted')
    context.textAlign = 'right'
    context.fillText(`+${durationWords(this.#later)} to now ›`, this.#view.size.width - 4, headHeight / 2)
    context.textAlign = 'left'
  }
}

function tickWords(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  if (ms < 60_000) return `${ms / 1_000} s`
  if (ms < 3_600_000) return `${Math.round(ms / 6_000) / 10} m`
  return `${Math.round(ms / 360_000) / 10} h`
}
