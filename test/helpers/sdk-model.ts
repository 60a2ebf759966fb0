/** An AI SDK model by structure, which streams the parts it is given and keeps the options it was called with. */
import type { AiSdkModel } from '../../src/models/ai-sdk/adapter.js'

export interface FakeSdkModel extends AiSdkModel {
  readonly seen: Record<string, unknown>[]
  readonly cancelled: unknown[]
  /** Resolves with the first cancelling of a stream. */
  readonly whenCancelled: Promise<void>
}

interface FakeOptions {
  readonly specificationVersion?: 'v2' | 'v3' | 'v4'
  readonly provider?: string
  /** Thrown instead of streaming. */
  readonly throws?: unknown
  /** After the parts the stream neither ends nor goes on, and ignores the signal. */
  readonly hangs?: boolean
}

export function fakeSdkModel(parts: readonly unknown[], options: FakeOptions = {}): FakeSdkModel {
  const seen: Record<string, unknown>[] = []
  const cancelled: unknown[] = []
  let tell = (): void => undefined
  const whenCancelled = new Promise<void>((resolve) => (tell = resolve))
  return {
    specificationVersion: options.specificationVersion ?? 'v3',
    provider: options.provider ?? 'fake.chat',
    modelId: 'm1',
    seen,
    cancelled,
    whenCancelled,
    async doStream(call) {
      seen.push({ ...call })
      if (options.throws !== undefined) throw options.throws
      const stream = new ReadableStream<unknown>({
        start(controller) {
          for (const part of parts) controller.enqueue(part)
          if (!options.hangs) controller.close()
        },
        cancel(reason) {
          cancelled.push(reason)
          tell()
        },
      })
      return { stream }
    },
  }
}
