/**
 * What a model is shown of a body's result: images and documents in its content, and the text beside them.
 *
 * - `content` beside `result` is for the model: it reads the result, then the texts of the content, and is shown the
 *   rest.
 * - A value that is content itself (MCP, LangChain, the AI SDK) is shown in the same way; its tool decides about the
 *   text.
 */
import { isObject } from '../core/json.js'
import { isShowable, mostMedia } from '../core/media.js'
import { resultText } from '../core/records/message.js'
import { toJson } from '../core/json.js'
import { foreignContent, heldBytes, contentText } from './foreign/content.js'
import type { Item } from './foreign/content.js'

export interface ShownContent {
  /** The text, unless the tool has `toModelOutput`. */
  readonly text?: string
  readonly media?: readonly { readonly mediaType: string; readonly bytes: Uint8Array }[]
}

/** Undefined if there is nothing but the result. */
export function shownContent(returned: unknown, output: unknown): ShownContent | undefined {
  const beside =
    isObject(returned) && returned['status'] === 'success' ? foreignContent(returned['content']) : undefined
  const media = mediaOf([
    ...(beside ?? []),
    ...(foreignContent(output) ?? (isObject(output) ? foreignContent(output['content']) : undefined) ?? []),
  ])
  if (!beside) return media.length === 0 ? undefined : { media }
  const result = isObject(returned) && 'result' in returned ? [resultText(toJson(output))] : []
  return { text: [...result, contentText(beside)].join('\n'), ...(media.length > 0 && { media }) }
}

function mediaOf(content: readonly Item[]): NonNullable<ShownContent['media']> {
  const found: { readonly mediaType: string; readonly bytes: Uint8Array }[] = []
  for (const item of content) {
    const itemBytes = heldBytes(item)
    if (itemBytes?.mediaType === undefined || found.length === mostMedia) continue
    const bytes =
      typeof itemBytes.data === 'string' ? new Uint8Array(Buffer.from(itemBytes.data, 'base64')) : itemBytes.data
    if (isShowable(itemBytes.mediaType, bytes.byteLength)) found.push({ mediaType: itemBytes.mediaType, bytes })
  }
  return found
}
