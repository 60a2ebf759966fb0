/**
 * Content of foreign tools (MCP, LangChain blocks, AI SDK parts), and its text for a model.
 *
 * - A model never reads base64: a binary item is described by its kind, media type and size. The value keeps the bytes.
 */
import { isObject } from '../../core/json.js'

export type Item = { readonly [key: string]: unknown }

/** Types of items that carry bytes or point to some. */
const binary: ReadonlySet<unknown> = new Set([
  'image',
  'audio',
  'video',
  'file',
  'media',
  'image-data',
  'file-data',
  'image_url',
  'image-url',
  'file-url',
  'file-id',
])
const known: ReadonlySet<unknown> = new Set([...binary, 'text', 'resource', 'resource_link'])

function isContent(value: unknown): value is readonly Item[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => isObject(item) && known.has(item['type']))
}

export function foreignContent(value: unknown): readonly Item[] | undefined {
  return isContent(value) ? value : undefined
}

/** The number of bytes that a base64 text encodes. */
export function sizeOf(base64: string): number {
  return Buffer.byteLength(base64, 'base64')
}

/** The text of any value for a model. */
export function contentText(value: unknown): string {
  if (typeof value === 'string') return value
  if (isContent(value)) return value.map(itemText).join('\n')
  if (isObject(value) && isContent(value['content'])) {
    const { content, structuredContent } = value
    return [contentText(content), ...(structuredContent === undefined ? [] : [contentText(structuredContent)])].join(
      '\n',
    )
  }
  return (
    JSON.stringify(value, (_key, inner: unknown) => (isObject(inner) ? (bytesText(inner) ?? inner) : inner)) ?? 'null'
  )
}

function itemText(item: Item): string {
  const { type, text, resource } = item
  if (type === 'text' && typeof text === 'string') return text
  if (type === 'resource' && isObject(resource)) {
    return typeof resource['text'] === 'string' ? resource['text'] : (bytesText(resource) ?? JSON.stringify(resource))
  }
  return bytesText(item) ?? linkText(item) ?? JSON.stringify(item)
}

interface ItemBytes {
  /** Base64, or the bytes themselves. */
  readonly data: string | Uint8Array
  readonly mediaType: string | undefined
}

/** The bytes of an item, in whichever field its kind has them. */
export function heldBytes(item: Item): ItemBytes | undefined {
  const resource = isObject(item['resource']) ? item['resource'] : item
  const { uri, blob } = resource
  if (typeof blob === 'string' && typeof uri === 'string') return { data: blob, mediaType: mediaTypeOf(resource) }
  const source = isObject(item['source']) ? item['source'] : item
  const data = binary.has(item['type']) ? source['data'] : undefined
  return typeof data === 'string' || data instanceof Uint8Array
    ? { data, mediaType: mediaTypeOf(source) }
    : heldByUrl(item)
}

/** The description of an item that holds bytes. */
function bytesText(item: Item): string | undefined {
  const { type, uri } = item
  const found = heldBytes(item)
  if (!found) return undefined
  const words = [
    typeof uri === 'string' ? `resource ${uri}` : String(type),
    ...(found.mediaType === undefined ? [] : [found.mediaType]),
  ]
  return (
    `[${words.join(' ')}, ${typeof found.data === 'string' ? sizeOf(found.data) : found.data.byteLength} ` +
    `bytes, not shown]`
  )
}

function mediaTypeOf(item: Item): string | undefined {
  const found = item['mimeType'] ?? item['mime_type'] ?? item['mediaType'] ?? item['media_type']
  return typeof found === 'string' ? found : undefined
}

function urlOf(item: Item): string | undefined {
  const nested = item['image_url']
  const found = isObject(nested) ? nested['url'] : (nested ?? item['url'] ?? item['uri'])
  return typeof found === 'string' ? found : undefined
}

function heldByUrl(item: Item): { readonly data: string; readonly mediaType: string | undefined } | undefined {
  if (!binary.has(item['type'])) return undefined
  const match = /^data:([^;,]*)[^,]*;base64,/.exec(urlOf(item) ?? '')
  return match ? { data: (urlOf(item) ?? '').slice(match[0].length), mediaType: match[1] || undefined } : undefined
}

function linkText(item: Item): string | undefined {
  const url = urlOf(item)
  if (url === undefined) return undefined
  const name = item['name']
  return `[${String(item['type'])} ${typeof name === 'string' ? `${name} ` : ''}${url}]`
}
