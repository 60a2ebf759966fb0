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
  readonly data: Uint8Array
  readonly mediaType: string
  readonly filename?: string
}

export interface Pictures {
  /** Bytes by hash. */
  readonly shown: ReadonlyMap<string, Uint8Array>
  /** How files of results are sent: as items of v2 (`media`) or v3 (`data`), or after the result. */
  readonly results: 'media' | 'data' | 'after'
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
  return { shown, results: takesInResults ? resultForm(specificationVersion) : 'after' }
}

function resultForm(specificationVersion: string): Pictures['results'] {
  if (specificationVersion === 'v4') return 'after'
  return specificationVersion === 'v2' ? 'media' : 'data'
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

export function fileParts(media: readonly Media[], shown: Pictures['shown']): FilePart[] {
  return media.flatMap(({ hash, mediaType, name }) => {
    const data = shown.get(hash)
    return data ? [{ type: 'file' as const, data, mediaType, ...defined({ filename: name }) }] : []
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
    return { ...message, content: [...words, ...(pictures ? fileParts(media, pictures.shown) : [])] }
  }
  const { output } = message
  if (output.type === 'content') return message
  const value = noted(output.value)
  const files = pictures && pictures.results !== 'after' ? fileParts(media, pictures.shown) : []
  if (files.length === 0) return { ...message, output: { ...output, value } }
  const items = files.map((file) => itemOf(file, pictures?.results))
  return { ...message, output: { type: 'content', value: [{ type: 'text', text: value }, ...items] } }
}

function itemOf({ data, mediaType, filename }: FilePart, form: Pictures['results'] | undefined): object {
  const base64 = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
  if (form === 'media') return { type: 'media', data: base64, mediaType }
  if (mediaType.startsWith('image/')) return { type: 'image-data', data: base64, mediaType }
  return { type: 'file-data', data: base64, mediaType, ...defined({ filename }) }
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
