/**
 * Files that come with a message or an answer, put into this thread's `/attachments` (S8). The model reads the paths at
 * which they are here, never those of the thread that sent them.
 */
import { attachedText, namesOf, placeAttachments } from '../../../src/core/attachments.js'
import { isObject } from '../../../src/core/json.js'
import type { Json } from '../../../src/core/json.js'
import { mediaAt } from '../../../src/core/media.js'
import type { Media } from '../../../src/core/media.js'
import type { AnswerFiles } from '../../../src/core/records/record.js'
import { thawTree } from '../../../src/core/tree.js'
import type { FrozenTree } from '../../../src/core/tree.js'
import type { ThreadState } from '../state.js'

/** Gives the path of each file here, by its name. */
function put(state: ThreadState, files: FrozenTree, at: number): ReadonlyMap<string, string> {
  const { tree, paths } = placeAttachments(state.files, thawTree(files), at)
  state.files = tree
  return paths
}

interface MessageFiles {
  readonly text: string
  readonly files?: FrozenTree
  /** In the sender's order: paths that are here already, and names in `files`. */
  readonly listed?: readonly string[]
  readonly at: number
}

interface MessageWithFiles {
  readonly text: string
  readonly attachments?: readonly string[]
  /** Of these, what a model is shown. */
  readonly media?: readonly Media[]
}

/** A message with the paths at which its files are now. */
export function withAttachments(state: ThreadState, { text, files, listed, at }: MessageFiles): MessageWithFiles {
  if (!files && !listed) return { text }
  const placed = files ? put(state, files, at) : new Map<string, string>()
  const attachments = listed ? listed.map((each) => placed.get(each) ?? each) : [...placed.values()]
  const media = mediaAt(state.files, attachments)
  return { text: `${text}\n\n${attachedText(attachments)}`, attachments, ...(media.length > 0 && { media }) }
}

export interface ChildAnswer {
  readonly value: Json
  readonly attachments?: AnswerFiles
  readonly note?: string
}

/** An answer as this thread's model reads it. A text is told where its files are; an output names them itself. */
export function receiveAnswer(
  state: ThreadState,
  { value, attachments, note }: ChildAnswer,
  at: number,
): { readonly value: Json; readonly below: readonly string[]; readonly paths: readonly string[] } {
  const notes = note === undefined ? [] : [note]
  if (!attachments) return { value, below: notes, paths: [] }
  const placed = put(state, attachments.files, at)
  const names = namesOf(attachments.paths)
  const moved = new Map(attachments.paths.map((path, index) => [path, placed.get(names[index] ?? '') ?? path]))
  const paths = [...moved.values()]
  const listed = isObject(value) ? value['attachments'] : undefined
  if (!isObject(value) || !Array.isArray(listed)) return { value, below: [attachedText(paths), ...notes], paths }
  const named = listed.map((path) => (typeof path === 'string' ? (moved.get(path) ?? path) : path))
  const others = paths.filter((path) => !named.includes(path))
  return {
    value: { ...value, attachments: named },
    below: [...(others.length > 0 ? [attachedText(others)] : []), ...notes],
    paths,
  }
}
