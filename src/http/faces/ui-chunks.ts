/**
 * A run as chunks of the UI message stream of the AI SDK (`ai` 6): the message of an assistant with its steps, texts
 * and calls, made of what each record changed. One writer makes the chunks of one answer.
 *
 * - A run can be written from its beginning at any time: the chunks are the same, without the deltas that are gone.
 * - A client that has decided something has the message up to there: `known` leaves out what it has.
 */
import type { Failure, RunCall, RunResult, SkeinEvent, ThreadChange } from '../../index.js'
import type { Waiting } from './answer.js'
import { StepWords } from './step-words.js'
import type { WordKind } from './step-words.js'

export interface UiChunk {
  readonly type: string
  readonly [field: string]: unknown
}

/** The id of the assistant's message: not that of the user's, which the run has. */
const answerId = (run: string): string => `answer_${run}`
/** The run of an assistant's message. */
export function runOfAnswer(id: string): string | undefined {
  return id.startsWith('answer_') ? id.slice('answer_'.length) : undefined
}

export interface UiWriterOptions {
  readonly thread: string
  readonly run: string
  /** Calls that the client has just decided: it has what was before the first of these decisions. */
  readonly known?: ReadonlySet<string>
}

interface OpenPart {
  readonly words: StepWords
  id: string | undefined
}

export class UiWriter {
  readonly #options: UiWriterOptions
  readonly #parts: Readonly<Record<WordKind, OpenPart>> = {
    reasoning: { words: new StepWords('reasoning'), id: undefined },
    text: { words: new StepWords('text'), id: undefined },
  }
  /** Parts so far, for their ids. */
  #count = 0
  #step: number | undefined
  /** Calls whose args are being said. */
  readonly #streaming = new Set<string>()
  readonly #asked = new Set<string>()
  readonly #calls = new Set<string>()
  #isKnown: boolean
  #chunks: UiChunk[] = []

  constructor(options: UiWriterOptions) {
    this.#options = options
    this.#isKnown = options.known !== undefined
  }

  /** The chunks of a change, of the thread or of one below it. */
  take(change: ThreadChange): readonly UiChunk[] {
    const { event, thread, path } = change
    this.#chunks = []
    if (thread !== this.#options.thread) {
      if (event) this.#write({ type: 'data-thread', data: { thread, path, event }, transient: true })
      return this.#told()
    }
    if (event) this.#takeEvent(event)
    for (const call of change.calls) this.#takeCall(call)
    if (event?.type === 'model.replied') this.#takeBack()
    return this.#told()
  }

  /** The last chunks. */
  end(end: { readonly ended: RunResult } | { readonly waiting: Waiting }): readonly UiChunk[] {
    this.#chunks = []
    this.#isKnown = false
    this.#closeStep()
    const { thread, run } = this.#options
    if ('waiting' in end) {
      const { status, items } = end.waiting
      const messageMetadata = { thread, run, status, waitsFor: items.map(({ id }) => id) }
      this.#write({ type: 'finish', finishReason: 'tool-calls', messageMetadata })
    } else this.#write(lastChunk(end.ended, { thread, run }))
    return this.#chunks
  }

  #told(): readonly UiChunk[] {
    // What became of a call may be news, also to who has the message: it is the same however often it is told.
    return this.#isKnown ? this.#chunks.filter(({ type }) => type.startsWith('tool-output-')) : this.#chunks
  }

  #write(chunk: UiChunk): void {
    this.#chunks.push(chunk)
  }

  #takeEvent(event: SkeinEvent): void {
    switch (event.type) {
      case 'turn.started':
        return this.#write({ type: 'start', messageId: answerId(this.#options.run) })
      case 'calls.made':
        return this.#openStep(event.step)
      case 'call.delta':
        return this.#takeArgs(event.step, `call_${event.step}_${event.index}`, event)
      case 'tool.preliminary':
        if (this.#calls.has(event.call))
          this.#write({
            type: 'tool-output-available',
            toolCallId: event.call,
            output: event.event,
            preliminary: true,
          })
        return
      case 'call.decided':
      case 'call.answered':
        if (this.#options.known?.has(`call_${event.step}_${event.index}`)) this.#isKnown = false
        return
      default:
        this.#takeWords(event, 'reasoning')
        this.#takeWords(event, 'text')
    }
    if (event.type === 'stream.reset') this.#streaming.clear()
  }

  #takeWords(event: SkeinEvent, kind: WordKind): void {
    if (event.type === 'model.replied') this.#openStep(event.step)
    const part = this.#parts[kind]
    const spoken = part.words.take(event)
    if (!spoken) return
    if (spoken.void) this.#closePart(kind)
    if (spoken.piece !== '') {
      this.#openStep(spoken.step)
      if (part.id === undefined) {
        part.id = `step_${spoken.step}_${this.#count++}`
        this.#write({ type: `${kind}-start`, id: part.id })
      }
      this.#write({ type: `${kind}-delta`, id: part.id, delta: spoken.piece })
    }
    if (spoken.last) this.#closePart(kind)
  }

  #takeArgs(step: number, toolCallId: string, { tool, text }: { readonly tool: string; readonly text: string }): void {
    this.#openStep(step)
    if (!this.#streaming.has(toolCallId)) {
      this.#streaming.add(toolCallId)
      this.#write({ type: 'tool-input-start', toolCallId, toolName: tool })
    }
    this.#write({ type: 'tool-input-delta', toolCallId, inputTextDelta: text })
  }

  #takeCall({ id: toolCallId, tool: toolName, args: input, outcome, waitsFor, byProvider }: RunCall): void {
    const isNew = !this.#calls.has(toolCallId)
    this.#calls.add(toolCallId)
    this.#streaming.delete(toolCallId)
    const provider = byProvider ? { providerExecuted: true } : {}
    if (isNew && outcome?.ok === false && outcome.failure.code === 'TOOL_INPUT_INVALID') {
      const errorText = textOfFailure(outcome.failure)
      return this.#write({ type: 'tool-input-error', toolCallId, toolName, input, errorText })
    }
    if (isNew) this.#write({ type: 'tool-input-available', toolCallId, toolName, input, ...provider })
    if (outcome) return this.#write({ ...this.#outcomeChunk(toolCallId, outcome), toolCallId, ...provider })
    if (waitsFor !== 'approval' || this.#asked.has(toolCallId)) return
    this.#asked.add(toolCallId)
    this.#write({ type: 'tool-approval-request', approvalId: `${this.#options.thread}/${toolCallId}`, toolCallId })
  }

  #outcomeChunk(call: string, outcome: NonNullable<RunCall['outcome']>): UiChunk {
    if (outcome.ok) return { type: 'tool-output-available', output: outcome.value }
    const isDenied = outcome.failure.code === 'TOOL_DENIED' && this.#asked.has(call)
    return isDenied
      ? { type: 'tool-output-denied' }
      : { type: 'tool-output-error', errorText: textOfFailure(outcome.failure) }
  }

  /** Calls that an attempt began to say, and the reply does not have. */
  #takeBack(): void {
    for (const toolCallId of this.#streaming)
      this.#write({ type: 'tool-output-error', toolCallId, errorText: 'the model took this call back' })
    this.#streaming.clear()
  }

  #openStep(step: number): void {
    if (this.#step === step) return
    this.#closeStep()
    this.#step = step
    this.#write({ type: 'start-step' })
  }

  #closeStep(): void {
    this.#closePart('reasoning')
    this.#closePart('text')
    if (this.#step !== undefined) this.#write({ type: 'finish-step' })
    this.#step = undefined
  }

  #closePart(kind: WordKind): void {
    const part = this.#parts[kind]
    if (part.id !== undefined) this.#write({ type: `${kind}-end`, id: part.id })
    part.id = undefined
  }
}

function textOfFailure({ code, message }: Failure): string {
  return `${code}: ${message}`
}

const finishReasons: Readonly<Record<string, string>> = {
  completed: 'stop',
  empty_reply: 'stop',
  stop_when: 'stop',
  session_stopped: 'stop',
  reply_filtered: 'content-filter',
  reply_paused: 'other',
}

function lastChunk(
  { stopReason, failure, detail, subtreeUsage: usage }: RunResult,
  of: { readonly thread: string; readonly run: string },
): UiChunk {
  if (failure) return { type: 'error', errorText: textOfFailure(failure) }
  if (stopReason === 'cancelled' || stopReason === 'terminated')
    return { type: 'abort', reason: detail ? `${stopReason}: ${detail}` : stopReason }
  const finishReason = finishReasons[stopReason] ?? 'length'
  return { type: 'finish', finishReason, messageMetadata: { ...of, stopReason, usage } }
}
