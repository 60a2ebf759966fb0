/**
 * Images and documents of messages in a prompt: the files of a user message are parts of it; those of a result are
 * part of the result where the provider takes that, else they follow it in a user message.
 *
 * - A model that is not shown something is told what it is not shown.
 * - The newest are shown first, up to `mostShown` bytes of a request: providers refuse larger ones.
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
  /** Where those of results go; `media` and `data` are what v2 and v3 call the item. */
  readonly results: 'media' | 'data' | 'after'
}

const mostShown = 24 * 1024 * 1024

const takers = /^(?:anthropic|google|openai|azure|vertex|amazon-bedrock)\b/

/** Undefined: it is shown nothing. */
export async function picturesFor(
  request: ModelRequest,
  { provider, specificationVersion }: SettingsReader,
): Promise<Pictures | undefined> {
  const { messages, media: takes, read } = request
  if (!read || !(takes ?? takers.test(provider)) || !messages.some(({ media }) => media)) return undefined
  const wanted = chosen(messages)
  const shown = new Map<string, Uint8Array>()
  await Promise.all(
    Array.from(wanted, async (hash) => {
      const bytes = await read(hash)
      if (bytes) shown.set(hash, bytes)
    }),
  )
  const within = /anthropic|^google|^vertex|\.responses$/.test(provider)
  return {
    shown,
    results: !within || specificationVersion === 'v4' ? 'after' : specificationVersion === 'v2' ? 'media' : 'data',
  }
}

function chosen(messages: readonly Message[]): ReadonlySet<string> {
  const hashes = new Set<string>()
  let left = mostShown
  for (const { media = [] } of messages.toReversed()) {
    for (const { hash, size } of media) {
      if (hashes.has(hash) || size > left) continue
      hashes.add(hash)
      left -= size
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

/** The message with its pictures, or with a word in their place. */
export function illustrated(message: Converted, media: readonly Media[], pictures: Pictures | undefined): Converted {
  if (message === 'nothing') return message
  const unseen = media.filter(({ hash }) => !pictures?.shown.has(hash))
  const said = (text: string): string => withUnseen(text, media, unseen)
  if ('role' in message) {
    if (message.role !== 'user') return message
    const words = message.content.map((part): TextPart | FilePart =>
      part.type === 'file' ? part : { ...part, text: said(part.text) },
    )
    return { ...message, content: [...words, ...(pictures ? fileParts(media, pictures.shown) : [])] }
  }
  const { output } = message
  if (output.type === 'content') return message
  const value = said(output.value)
  const files = pictures && pictures.results !== 'after' ? fileParts(media, pictures.shown) : []
  if (files.length === 0) return { ...message, output: { ...output, value } }
  const items = files.map((file) => itemOf(file, pictures?.results))
  return { ...message, output: { type: 'content', value: [{ type: 'text', text: value }, ...items] } }
}

function itemOf({ data, mediaType, filename }: FilePart, form: Pictures['results'] | undefined): object {
  const type = form === 'media' ? 'media' : mediaType.startsWith('image/') ? 'image-data' : 'file-data'
  const base64 = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
  return { type, data: base64, mediaType, ...(type === 'file-data' && filename !== undefined && { filename }) }
}

/** A text may say already that something is not shown; then that is taken back, or stands. */
function withUnseen(text: string, media: readonly Media[], unseen: readonly Media[]): string {
  const sizes = new Set(media.map(({ size }) => String(size)))
  const taken = (marker: string, size: string): string => (sizes.has(size) ? `, ${size} bytes]` : marker)
  if (unseen.length === 0) return text.replaceAll(/, (\d+) bytes, not shown\]/g, taken)
  if (text.includes(', not shown]')) return text
  const told = unseen.map(
    ({ mediaType, size, name = mediaType.split('/')[0] }) => `[${name} ${mediaType}, ${size} bytes, not shown]`,
  )
  return [text, ...told].join('\n')
}
