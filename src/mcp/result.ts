/**
 * Turns the result of an MCP server into what a tool's body returns.
 *
 * - The value is the structured content, else the joined texts. Content that is not only text is kept item by item,
 *   with its bytes and their number.
 * - `isError` is an error result, whatever else is in it.
 */
import type { CallToolResult } from '@modelcontextprotocol/client'
import { isObject } from '../core/json.js'
import { sizeOf, contentText } from '../tools/foreign/content.js'

type Item = CallToolResult['content'][number]

export function toReturn(tool: string, { content = [], structuredContent, isError }: CallToolResult): unknown {
  if (isError === true) {
    const source = content.length > 0 ? content : structuredContent
    const error = source === undefined ? '' : contentText(source)
    return { status: 'error', error: error === '' ? `${tool} reported an error without saying which` : error }
  }
  return { status: 'success', result: valueOf(content, structuredContent) }
}

function valueOf(content: readonly Item[], structured: unknown): unknown {
  if (structured !== undefined) {
    // Servers repeat structured content as text, and sometimes as items.
    const text = JSON.stringify(structured)
    if (content.every((item) => item.type === 'text' || text.includes(bytesOf(item) ?? JSON.stringify(item))))
      return structured
    return { content: content.map(counted), structuredContent: structured }
  }
  const texts = content.flatMap((item) => (item.type === 'text' ? [item.text] : []))
  return texts.length === content.length ? texts.join('\n') : { content: content.map(counted) }
}

function bytesOf(item: Item): string | undefined {
  if (item.type === 'image' || item.type === 'audio') return item.data
  return item.type === 'resource' && 'blob' in item.resource ? item.resource.blob : undefined
}

function counted(item: Item): unknown {
  const data = bytesOf(item)
  if (data === undefined) return item
  const bytes = sizeOf(data)
  return item.type === 'resource' && isObject(item.resource)
    ? { ...item, resource: { ...item.resource, bytes } }
    : { ...item, bytes }
}
