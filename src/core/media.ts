/**
 * Images and documents that a model is shown. Messages refer to them by the hash of their bytes, which are read when
 * a model is called.
 *
 * - Only what most providers accept: PNG, JPEG, GIF and WebP images, and PDF documents, up to `mostBytes` each.
 */
import { nodeAt } from './tree.js'
import type { DirNode } from './tree.js'

export interface Media {
  readonly mediaType: string
  readonly hash: string
  readonly size: number
  /** The name of the file. */
  readonly name?: string
}

const byEnding: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
}
const types: ReadonlySet<string> = new Set(Object.values(byEnding))

export const mostBytes = 20 * 1024 * 1024
/** In one message or result. */
export const mostMedia = 20

export function isShowable(mediaType: string, size: number): boolean {
  return types.has(mediaType) && size > 0 && size <= mostBytes
}

/** Those of the files that a model can be shown. */
export function mediaAt(tree: DirNode, paths: readonly string[]): readonly Media[] {
  const found = paths.flatMap((path): readonly Media[] => {
    const node = nodeAt(tree, path)
    const name = path.slice(path.lastIndexOf('/') + 1)
    const ending = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
    const mediaType = Object.hasOwn(byEnding, ending) ? byEnding[ending] : undefined
    if (node?.kind !== 'file' || mediaType === undefined || !isShowable(mediaType, node.size)) return []
    return [{ mediaType, hash: node.hash, size: node.size, name }]
  })
  return found.slice(0, mostMedia)
}
