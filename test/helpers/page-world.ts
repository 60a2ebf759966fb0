/** A team four levels deep that waits for a person at its end, served with the page. */
import { z } from 'zod'
import { createSkein, defineAgent, defineModel, definePrompt, defineTool, memory } from '../../src/index.js'
import type { Definition, Skein, Store } from '../../src/index.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { serve } from '../../src/server.js'
import type { HandlerOptions, SkeinServer } from '../../src/server.js'
import { TreeStore } from '../../src/page/store/tree-store.js'

const levels = ['lead', 'planner', 'buyer', 'clerk'] as const

export interface PageWorld {
  readonly skein: Skein
  readonly server: SkeinServer
  /** What was paid, in order. */
  readonly paid: unknown[]
  /** Starts a tree whose last thread waits for approval, and gives that item's id. `twice`: another planner is in line. */
  waits(root: string, how?: 'once' | 'twice'): Promise<string>
  close(): Promise<void>
}

/** `says` is what the model of the last level answers at its end. */
export async function createPageWorld(
  says: string,
  options: Partial<HandlerOptions> = {},
  backend: Store = memory(),
): Promise<PageWorld> {
  const paid: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Transfers money',
    args: z.object({ to: z.string(), euros: z.number() }),
    needsApproval: true,
    sideEffect: true,
    idempotent: true,
    execute(state, args) {
      paid.push(args)
      return { ...args, key: state.idempotencyKey.length }
    },
  })
  const app: Definition[] = [pay]
  for (const [index, name] of levels.entries()) {
    const next = levels[index + 1]
    const model = scriptedModel(({ messages, step }) => {
      const tool = next ?? 'pay'
      const text = messages[0]?.text ?? ''
      const call = { tool, args: next ? { message: text } : { to: 'printer', euros: 2_000 } }
      const isTwice = index === 0 && text.endsWith('twice')
      return step === 0 ? { calls: isTwice ? [call, call] : [call] } : says
    })
    app.push(
      defineModel({ name, model }),
      definePrompt({ name, model: name, prompt: `You are ${name}.`, tools: [next ? { name: next } : 'pay'] }),
      defineAgent({ name, type: 'ai_human', exposeAsTool: index > 0, toolDescription: name, sideA: { prompt: name } }),
    )
  }
  const skein = await createSkein({ app, backend, limits: { maxParallelChildren: 1 } })
  const server = await serve(skein, { auth: 'none', port: 0, ...options })
  return {
    skein,
    server,
    paid,
    async waits(root, how = 'once') {
      const thread = await skein.threads.create({ agent: 'lead', id: root })
      thread.send(how === 'once' ? 'Pay the printer.' : 'Pay the printer, twice')
      for await (const [item] of skein.inbox.watch({ root })) if (item) return item.id
      throw new Error('the inbox has ended')
    },
    async close() {
      await server.close()
      await skein.close()
    },
  }
}

/** What the server has of a tree, in the words of the page's own store. */
export async function serverDigest(url: string, root: string): Promise<string> {
  const store = new TreeStore(root)
  store.load(Object(await (await fetch(`${url}/trees/${root}/snapshot`)).json()))
  return store.digest()
}
