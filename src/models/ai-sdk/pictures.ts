/**
 * Images and documents in a prompt: files of a user message are parts of it; files of a result are part of the result
 * if the provider accepts that, else they follow it in a user message.
 *
 * - Where a file is not shown, a text in its place says so.
 * - The newest files have precedence, up to `mostShown` bytes per request: providers refuse larger ones.
 */
import { defined } from '../../core/defined.js'
import type { Media } from '../../core/media.js'
import type { Message } from '../../core/records/message.js'
import type { Converted, TextPart } from './prompt.js'
import type { SettingsReader } from './request.js'
import type { ModelRequest } from '../port.js'

export interface FilePart {
  readonly type: 'file'
  /** Tagged since v4. */
  readonly data: Uint8Array | { readonly type: 'data'; readonly data: Uint8Array }
  readonly mediaType: string
  readonly filename?: string
}

export interface Pictures {
  /** Bytes by hash. */
  readonly shown: ReadonlyMap<string, Uint8Array>
  readonly specificationVersion: SettingsReader['specificationVersion']
  /** Whether files of results are parts of them, or follow them. */
  readonly results: 'within' | 'after'
}

const mostShown = 24 * 1024 * 1024

const takesFiles = /^(?:anthropic|google|openai|azure|vertex|amazon-bedrock)\b/

/** Undefined: the model is shown no files. */
export async function picturesFor(
  request: ModelRequest,
  { provider, specificationVersion }: SettingsReader,
): Promise<Pictures | undefined> {
  const { messages, media: takes, read } = request
  if (!read || !(takes ?? takesFiles.test(provider)) || !messages.some(({ media }) => media)) return undefined
  const shown = new Map<string, Uint8Array>()
  await Promise.all(
    Array.from(newestThatFit(messages), async (hash) => {
      const bytes = await read(hash)
      if (bytes) shown.set(hash, bytes)
    }),
  )
  const takesInResults = /anthropic|^google|^vertex|\.responses$/.test(provider)
  return { shown, specificationVersion, results: takesInResults ? 'within' : 'after' }
}

function newestThatFit(messages: readonly Message[]): ReadonlySet<string> {
  const hashes = new Set<string>()
  let room = mostShown
  for (const { media = [] } of messages.toReversed()) {
    for (const { hash, size } of media) {
      if (hashes.has(hash) || size > room) continue
      hashes.add(hash)
      room -= size
    }
  }
  return hashes
}

export function fileParts(media: readonly Media[], { shown, specificationVersion }: Pictures): FilePart[] {
  return shownOf(media, shown).map(({ data: bytes, ...file }) => {
    const data = specificationVersion === 'v4' ? { type: 'data' as const, data: bytes } : bytes
    return { type: 'file', data, ...file }
  })
}

interface ShownFile {
  readonly data: Uint8Array
  readonly mediaType: string
  readonly filename?: string
}

function shownOf(media: readonly Media[], shown: Pictures['shown']): readonly ShownFile[] {
  return media.flatMap(({ hash, mediaType, name }) => {
    const data = shown.get(hash)
    return data ? [{ data, mediaType, ...defined({ filename: name }) }] : []
  })
}

/** The message with its pictures, or with a text in their place. */
export function illustrated(message: Converted, media: readonly Media[], pictures: Pictures | undefined): Converted {
  if (message === 'nothing') return message
  const unseen = media.filter(({ hash }) => !pictures?.shown.has(hash))
  const noted = (text: string): string => withUnseen(text, media, unseen)
  if ('role' in message) {
    if (message.role !== 'user') return message
    const words = message.content.map((part): TextPart | FilePart =>
      part.type === 'file' ? part : { ...part, text: noted(part.text) },
    )
    return { ...message, content: [...words, ...(pictures ? fileParts(media, pictures) : [])] }
  }
  const { output } = message
  if (output.type === 'content') return message
  const value = noted(output.value)
  const files = pictures?.results === 'within' ? shownOf(media, pictures.shown) : []
  if (files.length === 0) return { ...message, output: { ...output, value } }
  const items = files.map((file) => itemOf(file, pictures?.specificationVersion))
  return { ...message, output: { type: 'content', value: [{ type: 'text', text: value }, ...items] } }
}

/** As an item of a result: each version has its own form. */
function itemOf(
  { data, mediaType, filename }: ShownFile,
  version: Pictures['specificationVersion'] | undefined,
): object {
  const base64 = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
  if (version === 'v2') return { type: 'media', data: base64, mediaType }
  const named = defined({ filename })
  if (version === 'v4') return { type: 'file', data: { type: 'data', data: base64 }, mediaType, ...named }
  if (mediaType.startsWith('image/')) return { type: 'image-data', data: base64, mediaType }
  return { type: 'file-data', data: base64, mediaType, ...named }
}

/** The text may say already that a file is not shown: that is removed if it is shown now, else left. */
function withUnseen(text: string, media: readonly Media[], unseen: readonly Media[]): string {
  const sizes = new Set(media.map(({ size }) => String(size)))
  const unmark = (marker: string, size: string): string => (sizes.has(size) ? `, ${size} bytes]` : marker)
  if (unseen.length === 0) return text.replaceAll(/, (\d+) bytes, not shown\]/g, unmark)
  if (text.includes(', not shown]')) return text
  const notes = unseen.map(
    ({ mediaType, size, name = mediaType.split('/')[0] }) => `[${name} ${mediaType}, ${size} bytes, not shown]`,
  )
  return [text, ...notes].join('\n')
}
