/**
 * From what an MCP server answers to what a tool's body returns.
 *
 * - Structured content is the value; without it the texts are, joined. Content that is more than text is kept item by
 *   item, bytes included and counted.
 * - `isError` is an error result, whatever else is in it.
 */
import type { CallToolResult } from '@modelcontextprotocol/client'
import { isObject } from '../core/json.js'
import { sizeOf, spoken } from '../tools/foreign/content.js'

type Item = CallToolResult['content'][number]

export function toReturn(tool: string, { content = [], structuredContent, isError }: CallToolResult): unknown {
  if (isError === true) {
    const said = content.length > 0 ? spoken(content) : structuredContent === undefined ? '' : spoken(structuredContent)
    return { status: 'error', error: said === '' ? `${tool} reported an error without saying which` : said }
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
