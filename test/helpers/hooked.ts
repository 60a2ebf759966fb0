/** The smallest app with hooks: `helper` on a scripted model, with the hooks and tools that a test gives it. */
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition, ToolDefinition } from '../../src/agent/define.js'
import type { HookDefinition } from '../../src/agent/define-hook.js'
import type { Thread } from '../../src/runtime/handles/thread.js'
import type { DurableEvent } from '../../src/core/records/event.js'
import { scriptedModel } from '../../src/models/scripted.js'
import type { Script, ScriptedModel, ScriptedReply } from '../../src/models/scripted.js'

interface HookedApp {
  readonly script: Script | readonly ScriptedReply[]
  readonly hooks: readonly HookDefinition[]
  readonly tools?: readonly ToolDefinition[]
  /** In place of `hooks`, by name. */
  readonly ofPrompt?: readonly string[]
  readonly ofAgent?: readonly string[]
  readonly more?: readonly Definition[]
  readonly callable?: readonly (string | { readonly name: string })[]
}

export function hookedApp({ script, hooks, tools = [], ofPrompt, ofAgent, more = [], callable = [] }: HookedApp): {
  readonly app: readonly Definition[]
  readonly model: ScriptedModel
} {
  const model = scriptedModel(script)
  return {
    model,
    app: [
      ...hooks,
      ...tools,
      ...more,
      defineModel({ name: 'scripted', model }),
      definePrompt({
        name: 'helper_prompt',
        prompt: 'You help.',
        model: 'scripted',
        tools: [...tools.map(({ name }) => name), ...callable],
        ...(ofPrompt && { hooks: ofPrompt }),
      }),
      defineAgent({
        name: 'helper',
        type: 'ai_human',
        sideA: { prompt: 'helper_prompt' },
        hooks: ofAgent ?? hooks.map(({ name }) => name),
      }),
    ],
  }
}

/** The durable events of a thread of one type, so far. */
export async function eventsOf<Type extends DurableEvent['type']>(
  thread: Thread,
  type: Type,
): Promise<Extract<DurableEvent, { readonly type: Type }>[]> {
  const found: Extract<DurableEvent, { readonly type: Type }>[] = []
  const { seq } = await thread.info()
  for await (const event of thread.events()) {
    if (!('seq' in event)) continue
    if (event.type === type) found.push(event as Extract<DurableEvent, { readonly type: Type }>)
    if (event.seq >= seq) break
  }
  return found
}
