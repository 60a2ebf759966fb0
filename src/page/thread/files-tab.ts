/** Files of a thread: its folders now, the text of one, and which call wrote what, step by step. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { askService, pathTo, toPageProblem } from '../kit/api.js'
import type { PageProblem } from '../kit/api.js'
import { timeOfDay, countWords } from '../kit/format.js'
import { plainText } from '../kit/plain-text.js'
import { useResource } from '../kit/resource.js'
import { address, changeQuery, hrefOf } from '../kit/router.js'
import { Empty, Loading, Problem } from '../kit/ui.js'
import type { ThreadTabProps } from './thread-screen.js'
import { useRecords } from './thread-records.js'
import type { PageRecord } from './thread-records.js'

interface FileEntry {
  readonly name: string
  readonly kind: 'file' | 'dir' | 'link'
  readonly size?: number
}

/** Each part encoded, so that no name becomes a path. */
const filesPath = (thread: string, path: string): string =>
  `${pathTo`threads/${thread}/files`}${path.split('/').map(encodeURIComponent).join('/')}`

export function FilesTab({ thread, row }: ThreadTabProps): VNode {
  const { dir = '/', file } = address.value.query
  const { value, problem, again } = useResource<{ entries: readonly FileEntry[] }>(
    `${filesPath(thread, dir)}?list=true`,
    row.seq,
  )
  if (problem && !value) return h(Problem, { problem, retry: again })
  if (!value) return h(Loading, { what: 'files' }) ?? h('div', null)
  const above = dir === '/' ? undefined : dir.slice(0, dir.lastIndexOf('/')) || '/'
  const entries = value.entries.toSorted(
    (one, other) => one.kind.localeCompare(other.kind) || one.name.localeCompare(other.name),
  )
  return h(
    'div',
    { class: 'files' },
    h(
      'nav',
      { class: 'side-list', 'aria-label': 'Files' },
      h('p', { class: 'muted' }, plainText(dir)),
      above === undefined
        ? null
        : h('button', { type: 'button', class: 'entry', onClick: () => changeQuery({ dir: above }) }, '..'),
      entries.map(({ name, kind, size }) => {
        const path = `${dir === '/' ? '' : dir}/${name}`
        const open = (): void => changeQuery(kind === 'dir' ? { dir: path, file: undefined } : { file: path })
        return h(
          'button',
          {
            type: 'button',
            key: name,
            class: 'entry',
            'aria-current': path === file ? 'true' : undefined,
            onClick: open,
          },
          h('span', null, `${plainText(name)}${kind === 'dir' ? '/' : ''}`),
          kind === 'file' ? h('span', { class: 'muted number' }, countWords(size)) : null,
        )
      }),
      entries.length === 0 ? h('p', { class: 'muted' }, 'No file') : null,
    ),
    file === undefined ? h(Changes, { thread, seq: row.seq }) : h(FileText, { thread, path: file, version: row.seq }),
  )
}

const longestText = 200_000

function FileText({ thread, path, version }: { thread: string; path: string; version: number }): VNode {
  const [text, setText] = useState<string>()
  const [problem, setProblem] = useState<PageProblem>()
  useEffect(() => {
    const left = new AbortController()
    askService(filesPath(thread, path), { signal: left.signal })
      .then((response) => response.text())
      .then((all) => {
        setText(all)
        setProblem(undefined)
      })
      .catch((thrown: unknown) => left.signal.aborted || setProblem(toPageProblem(thrown)))
    return () => left.abort()
  }, [thread, path, version])
  const save = (): void => {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([text ?? '']))
    link.download = path.slice(path.lastIndexOf('/') + 1)
    link.click()
    URL.revokeObjectURL(link.href)
  }
  return h(
    'section',
    { class: 'file-text' },
    h(
      'p',
      null,
      h('strong', null, plainText(path)),
      ' ',
      h('button', { type: 'button', class: 'copy', onClick: save }, 'Download'),
      h('button', { type: 'button', class: 'copy', onClick: () => changeQuery({ file: undefined }) }, 'Changes'),
    ),
    problem ? h(Problem, { problem }) : null,
    text === undefined ? null : h('pre', { class: 'tool-text', tabIndex: 0 }, plainText(text.slice(0, longestText))),
    (text?.length ?? 0) > longestText
      ? h('p', { class: 'muted' }, `${countWords(longestText)} of ${countWords(text?.length)} characters`)
      : null,
  )
}

interface Change {
  readonly op: string
  readonly path: string
  readonly size?: number
}

function changesOf(record: PageRecord): readonly Change[] {
  const { changes }: { changes?: { files?: readonly Change[] } } = Object(record)
  return changes?.files ?? []
}

const signs: Readonly<Record<string, string>> = {
  file: 'wrote',
  gone: 'removed',
  dir: 'made folder',
  link: 'linked',
  mode: 'changed mode of',
}

/** Who wrote which file, newest first. */
function Changes({ thread, seq }: { thread: string; seq: number }): VNode {
  const { records, isRead } = useRecords(thread, seq)
  const changed = records.filter((record) => changesOf(record).length > 0).toReversed()
  if (!isRead) return h(Loading, { what: 'changes' }) ?? h('div', null)
  if (changed.length === 0) return h(Empty, { title: 'Nothing was written lately' })
  return h(
    'section',
    { class: 'file-text' },
    h('h2', null, 'Changes by step'),
    h(
      'ol',
      { class: 'record-list' },
      changed.map((record) => {
        const { step, index } = record
        const call = typeof step === 'number' ? `${step}.${String(index ?? 0)}` : ''
        const who = typeof record['tool'] === 'string' ? record['tool'] : record.type
        return h(
          'li',
          { key: record.seq, class: 'change' },
          h('span', { class: 'number muted' }, timeOfDay(record.at)),
          h('a', { href: hrefOf(['threads', thread, 'steps']) }, `${call} ${who}`),
          h(
            'span',
            null,
            changesOf(record)
              .slice(0, 20)
              .map(({ op, path }) =>
                h('span', { key: path, class: 'changed-path' }, `${signs[op] ?? op} ${plainText(path)}`),
              ),
          ),
        )
      }),
    ),
  )
}
