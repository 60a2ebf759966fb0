/**
 * Questions about what comes from outside: a thread that is to be created, a message that is to be received. Each gives
 * what the hooks want; the caller makes the command of it.
 */
import type { HookInput, HookResult } from '../../agent/define-hook.js'
import type { Blobs } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import type { Json } from '../../core/json.js'
import type { FileChange } from '../../core/records/change.js'
import { kvSpace } from '../../core/records/change.js'
import { emptyTree } from '../../core/tree.js'
import { createTreeSource } from '../../files/tree-source.js'
import { openWorkingCopy } from '../../files/opened-later.js'
import { maskOf } from './ask-hooks.js'
import type { Hooks, Mask } from './ask-hooks.js'
import { textWishes } from './call-questions.js'
import type { RecordAsking, Wishes } from './call-questions.js'

interface MessageWishes {
  readonly text: string
  readonly refuse?: string
}

export async function askMessage(
  hooks: Hooks,
  asking: RecordAsking,
  message: HookInput<'message'>,
): Promise<Wishes<MessageWishes>> {
  const mask = maskOf(asking.redactor)
  const { value, acted, closed } = await hooks.ask<'message', MessageWishes>({
    ...asking,
    on: 'message',
    hooks: hooks.of(asking.state.agent, asking.side).message ?? [],
    value: { text: message.text },
    input: ({ text }) => ({ ...message, text }),
    apply: (now, result) => textWishes(mask, now, result),
    isFinal: ({ refuse }) => refuse !== undefined,
  })
  return { acted, value: closed === undefined ? value : { ...value, refuse: closed } }
}

/** What a new thread begins with besides what its creator said. */
interface FirstWishes {
  readonly tags: readonly string[]
  readonly files: readonly FileChange[]
  readonly values: readonly { readonly key: string; readonly value: Json }[]
  readonly messages: readonly string[]
  readonly refuse?: string
}

/** Contents of files are stored before the record that names them. */
export async function askThreadCreated(
  hooks: Hooks,
  asking: RecordAsking,
  created: HookInput<'thread_created'>,
): Promise<Wishes<FirstWishes>> {
  const mask = maskOf(asking.redactor)
  const { value, acted, closed } = await hooks.ask<'thread_created', FirstWishes>({
    ...asking,
    on: 'thread_created',
    hooks: hooks.of(asking.state.agent, asking.side).thread_created ?? [],
    value: { tags: [...created.tags], files: [], values: [], messages: [] },
    input: ({ tags }) => ({ ...created, tags }),
    apply: (now, result) => firstWishes({ mask, blobs: hooks.blobs }, now, result),
    isFinal: ({ refuse }) => refuse !== undefined,
  })
  return { acted, value: closed === undefined ? value : { ...value, refuse: closed } }
}

async function firstWishes(
  { mask, blobs }: { readonly mask: Mask; readonly blobs: Blobs },
  now: FirstWishes,
  { tags = [], files = {}, values = {}, message, refuse }: HookResult<'thread_created'>,
): Promise<FirstWishes> {
  return {
    tags: [...new Set([...now.tags, ...tags.map((tag) => mask.text(tag))])],
    files: [...now.files, ...(await storedFiles(blobs, mask, files))],
    values: [
      ...now.values,
      ...Object.entries(values).map(([key, value]) => ({
        key: `${kvSpace}${mask.text(key)}`,
        value: mask.json(value),
      })),
    ],
    messages: message === undefined ? now.messages : [...now.messages, mask.text(message)],
    ...defined({ refuse: refuse === undefined ? undefined : mask.text(refuse) }),
  }
}

async function storedFiles(
  blobs: Blobs,
  mask: Mask,
  contents: Readonly<Record<string, string | Uint8Array>>,
): Promise<readonly FileChange[]> {
  const entries = Object.entries(contents)
  if (entries.length === 0) return []
  const source = createTreeSource({ tree: emptyTree, at: 0, quotaBytes: Infinity, blobs })
  const copy = await openWorkingCopy(async () => source)
  for (const [path, content] of entries)
    await copy.files.writeFile(mask.text(path), typeof content === 'string' ? mask.text(content) : content)
  const { changes, contents: bytes } = await copy.done()
  await Promise.all([...bytes.values()].map((each) => blobs.put(each)))
  return changes
}
