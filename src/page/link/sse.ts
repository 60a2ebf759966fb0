/**
 * Server-sent events out of chunks of bytes, wherever these are cut: in a line, between the two characters of a line
 * break, in the middle of a letter.
 */

export interface SentEvent {
  readonly event: string
  readonly data: string
}

export class SseParser {
  readonly #decoder = new TextDecoder()
  readonly #told: (event: SentEvent) => void
  #rest = ''
  #event = ''
  #data: string[] = []

  constructor(told: (event: SentEvent) => void) {
    this.#told = told
  }

  push(chunk: Uint8Array): void {
    this.#rest += this.#decoder.decode(chunk, { stream: true })
    let from = 0
    for (;;) {
      const end = this.#lineEnd(from)
      if (end === undefined) break
      this.#line(this.#rest.slice(from, end))
      from = end + (this.#rest.startsWith('\r\n', end) ? 2 : 1)
    }
    this.#rest = this.#rest.slice(from)
  }

  /** A carriage return at the end may be the first half of a line break. */
  #lineEnd(from: number): number | undefined {
    const feed = this.#rest.indexOf('\n', from)
    const back = this.#rest.indexOf('\r', from)
    if (back !== -1 && (feed === -1 || back < feed)) return back + 1 < this.#rest.length ? back : undefined
    return feed === -1 ? undefined : feed
  }

  #line(line: string): void {
    if (line === '') return this.#dispatch()
    const colon = line.indexOf(':')
    if (colon === 0) return
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1))
    if (field === 'event') this.#event = value
    else if (field === 'data') this.#data.push(value)
  }

  #dispatch(): void {
    if (this.#data.length > 0) this.#told({ event: this.#event || 'message', data: this.#data.join('\n') })
    this.#event = ''
    this.#data = []
  }
}
