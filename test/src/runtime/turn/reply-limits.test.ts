/** A model that never stops speaking fails its step, not the host. */
import { describe, expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition } from '../../../../src/agent/define.js'
import { collectReply } from '../../../../src/models/ai-sdk/stream.js'
import type { Model, ModelDelta } from '../../../../src/models/port.js'
import { replyLimits } from '../../../../src/models/retry/reply-limits.js'
import { onEveryStore } from '../../../helpers/world.js'

function appWith(model: Model): readonly Definition[] {
  return [
    defineModel({ name: 'm', model: () => model, maxRetries: 0 }),
    definePrompt({ name: 'p', prompt: 'x', model: 'm' }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
}

const piece = 'x'.repeat(100_000)
const usage = { inputTokens: 1, outputTokens: 1, costUsd: 0 }

/** Speaks until it is stopped, or until far more than any limit was said. */
function endless(delta: ModelDelta): Model & { readonly said: () => number } {
  let said = 0
  return {
    name: 'endless',
    said: () => said,
    async call(_request, { emit }) {
      while (said < 40_000_000) {
        said += delta.text.length
        emit(delta)
        await Promise.resolve()
      }
      return { text: '', calls: [], usage, finish: 'stop' }
    },
  }
}

onEveryStore('a reply without an end', (world) => {
  it.each<ModelDelta>([
    { type: 'text', text: piece },
    { type: 'reasoning', text: piece },
    { type: 'call', index: 0, tool: 'look', text: piece },
  ])('%s', async (delta) => {
    const model = endless(delta)
    const skein = await world.open(appWith(model))
    const thread = await skein.threads.create({ agent: 'lead' })
    await expect(thread.send('go').result()).resolves.toMatchObject({ failure: { code: 'MODEL_REPLY_TOO_LARGE' } })
    expect(model.said()).toBeLessThan(10_000_000)
    await world.close(skein)
  })

  it('one that comes whole', async () => {
    const model: Model = {
      name: 'whole',
      call: () => Promise.resolve({ text: 'x'.repeat(replyLimits.textChars + 1), calls: [], usage, finish: 'stop' }),
    }
    const skein = await world.open(appWith(model))
    const thread = await skein.threads.create({ agent: 'lead' })
    await expect(thread.send('go').result()).resolves.toMatchObject({ failure: { code: 'MODEL_REPLY_TOO_LARGE' } })
    await world.close(skein)
  })
})

describe('a stream of an AI SDK model', () => {
  it('calls without number end it, and cancel the stream', async () => {
    let parts = 0
    let cancelled = false
    const reader = {
      read: () =>
        Promise.resolve(
          parts > 100_000
            ? { done: true }
            : { done: false, value: { type: 'tool-input-start', id: `c${parts++}`, toolName: 'look' } },
        ),
      cancel: () => Promise.resolve((cancelled = true)),
    }
    const reading = collectReply(
      { getReader: () => reader },
      { model: 'm', signal: new AbortController().signal, emit: () => undefined },
    )
    await expect(reading).rejects.toMatchObject({ code: 'MODEL_REPLY_TOO_LARGE' })
    expect(cancelled).toBe(true)
    expect(parts).toBeLessThan(20_000)
  })
})
