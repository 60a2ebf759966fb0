/** Files of a thread, now or after any change: folders, the text of one, what a call changed in it, who wrote what. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { askService, pathTo, toPageProblem } from '../kit/api.js'
import type { PageProblem } from '../kit/api.js'
import { timeOfDay, countWords, plural } from '../kit/format.js'
import { useKeys } from '../kit/keys.js'
import { LineChanges } from '../kit/line-changes.js'
import { plainText } from '../kit/plain-text.js'
import { useResource } from '../kit/resource.js'
import { address, changeQuery, hrefOf } from '../kit/router.js'
import { Empty, Loading, Problem } from '../kit/ui.js'
import type { ThreadTabProps } from './thread-screen.js'
import { filePoints } from './file-points.js'
import type { FilePoint } from './file-points.js'
import { useRecords } from './thread-records.js'

interface FileEntry {
  readonly name: string
  readonly kind: 'file' | 'dir' | 'link'
  readonly size?: number
}

/** Each part encoded, so that no name becomes a path. */
const filesPath = (thread: string, path: string): string =>
  `${pathTo`threads/${thread}/files`}${path.split('/').map(encodeURIComponent).join('/')}`

/** At a record, or now. */
const withPoint = (path: string, at: number | undefined): string =>
  at === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}at=seq:${at}`

export function FilesTab({ thread, row }: ThreadTabProps): VNode {
  const { dir = '/', file, at: asked } = address.value.query
  const { records, isRead } = useRecords(thread, row.seq)
  const points = useMemo(() => filePoints(records), [records])
  const at = asked === undefined || !/^\d+$/.test(asked) ? undefined : Number(asked)
  const { value, problem, again } = useResource<{ entries: readonly FileEntry[] }>(
    withPoint(`${filesPath(thread, dir)}?list=true`, at),
    at ?? row.seq,
  )
  // What was listed before stays until the other point is read.
  const listed = useRef(value)
  listed.current = value ?? listed.current
  if (problem && !value)
    return h('div', { class: 'files-tab' }, h(PointBar, { points, at }), h(Problem, { problem, retry: again }))
  if (!listed.current) return h(Loading, { what: 'files' }) ?? h('div', null)
  return h(
    'div',
    { class: `files-tab${at === undefined ? '' : ' past'}` },
    h(PointBar, { points, at }),
    h(
      'div',
      { class: 'files' },
      h(FileList, { dir, file, entries: listed.current.entries }),
      file === undefined
        ? h(Changes, { thread, points, isRead })
        : h(FileText, { thread, path: file, at, points, version: at ?? row.seq, key: file }),
    ),
  )
}

function FileList(props: { dir: string; file: string | undefined; entries: readonly FileEntry[] }): VNode {
  const { dir, file } = props
  const above = dir === '/' ? undefined : dir.slice(0, dir.lastIndexOf('/')) || '/'
  const entries = props.entries.toSorted(
    (one, other) => one.kind.localeCompare(other.kind) || one.name.localeCompare(other.name),
  )
  return h(
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
  )
}

/** Which point of the past is shown: one for every record that changed files, and now. */
function PointBar({ points, at }: { points: readonly FilePoint[]; at: number | undefined }): VNode | null {
  const index = points.findLastIndex(({ seq }) => seq <= (at ?? Infinity))
  const place = at === undefined ? points.length : index
  const go = (to: number): void => {
    const point = points[Math.max(0, to)]
    changeQuery({ at: to >= points.length || !point ? undefined : String(point.seq) })
  }
  useKeys({ '[': () => go(place - 1), ']': () => go(place + 1), '.': () => changeQuery({ at: undefined }) })
  if (points.length === 0) return null
  const point = points[place]
  const words = point ? `After ${callWords(point)} · record ${point.seq} · ${timeOfDay(point.at)}` : 'Now'
  return h(
    'div',
    { class: 'point-bar' },
    h('button', { type: 'button', class: 'action', disabled: place <= 0, onClick: () => go(place - 1) }, '‹ Before'),
    h('input', {
      type: 'range',
      min: 0,
      max: points.length,
      value: place,
      'aria-label': 'Files after which change',
      'aria-valuetext': words,
      onInput: ({ target }: Event) => target instanceof HTMLInputElement && go(Number(target.value)),
    }),
    h('button', { type: 'button', class: 'action', disabled: !point, onClick: () => go(place + 1) }, 'Next ›'),
    h('span', { class: 'number', role: 'status' }, point ? `Past: ${words}` : words),
    point
      ? h('button', { type: 'button', class: 'chip', onClick: () => changeQuery({ at: undefined }) }, 'Back to now (.)')
      : null,
  )
}

function callWords({ step, index, who }: FilePoint): string {
  return step === undefined ? who : `step ${step}.${index ?? 0} ${who}`
}

const longestText = 200_000

/** Undefined: not read yet; null: there was no such file. */
function useText(
  file: { readonly thread: string; readonly path: string },
  at: number | undefined,
  version: number,
): { readonly text: string | null | undefined; readonly problem: PageProblem | undefined } {
  const { thread, path } = file
  const [text, setText] = useState<string | null>()
  const [problem, setProblem] = useState<PageProblem>()
  useEffect(() => {
    if (at === 0) return setText(null)
    const left = new AbortController()
    askService(withPoint(filesPath(thread, path), at), { signal: left.signal })
      .then((response) => response.text())
      .then((all) => {
        setText(all)
        setProblem(undefined)
      })
      .catch((thrown: unknown) => {
        if (left.signal.aborted) return
        const told = toPageProblem(thrown)
        if (told.status === 404) setText(null)
        setProblem(told.status === 404 ? undefined : told)
      })
    return () => left.abort()
  }, [thread, path, at, version])
  return { text, problem }
}

interface FileTextProps {
  readonly thread: string
  readonly path: string
  readonly at: number | undefined
  readonly points: readonly FilePoint[]
  readonly version: number
}

function FileText({ thread, path, at, points, version }: FileTextProps): VNode {
  const isCompared = address.value.query['diff'] === '1'
  const { text, problem } = useText({ thread, path }, at, version)
  const last = points.findLast(
    (record) => record.seq <= (at ?? Infinity) && record.changes.some((change) => change.path === path),
  )
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
      { class: 'file-bar' },
      h('strong', null, plainText(path)),
      last ? h('span', { class: 'muted' }, `last changed by ${callWords(last)}`) : null,
      h('button', { type: 'button', class: 'copy', onClick: save }, 'Download'),
      last
        ? h(
            'button',
            {
              type: 'button',
              class: 'copy',
              'aria-pressed': isCompared,
              onClick: () => changeQuery({ diff: isCompared ? undefined : '1' }),
            },
            'What that changed',
          )
        : null,
      h('button', { type: 'button', class: 'copy', onClick: () => changeQuery({ file: undefined }) }, 'All changes'),
    ),
    problem ? h(Problem, { problem }) : null,
    text === null ? h('p', { class: 'muted' }, 'There was no such file then.') : null,
    isCompared && last && typeof text === 'string'
      ? h(TextChanges, { thread, path, before: last.seq - 1, text })
      : h(PlainFile, { text }),
  )
}

function PlainFile({ text }: { text: string | null | undefined }): VNode | null {
  if (typeof text !== 'string') return null
  return h(
    'div',
    null,
    h('pre', { class: 'tool-text', tabIndex: 0 }, plainText(text.slice(0, longestText))),
    text.length > longestText
      ? h('p', { class: 'muted' }, `${countWords(longestText)} of ${countWords(text.length)} characters`)
      : null,
  )
}

function TextChanges(props: { thread: string; path: string; before: number; text: string }): VNode {
  const { text: older, problem } = useText(props, props.before, 0)
  if (problem) return h(Problem, { problem })
  if (older === undefined) return h(Loading, { what: 'the file before' }) ?? h('div', null)
  return h(LineChanges, { before: older ?? '', after: props.text })
}

const signs: Readonly<Record<string, string>> = {
  file: 'wrote',
  gone: 'removed',
  dir: 'made folder',
  link: 'linked',
  mode: 'changed mode of',
}

/** Who wrote which file, newest first. */
function Changes(props: { thread: string; points: readonly FilePoint[]; isRead: boolean }): VNode {
  const { thread, points, isRead } = props
  if (!isRead) return h(Loading, { what: 'changes' }) ?? h('div', null)
  if (points.length === 0) return h(Empty, { title: 'Nothing was written lately' })
  return h(
    'section',
    { class: 'file-text' },
    h('h2', null, 'Changes by step'),
    h(
      'ol',
      { class: 'record-list' },
      points.toReversed().map((record) =>
        h(
          'li',
          { key: record.seq, class: 'change' },
          h('span', { class: 'number muted' }, timeOfDay(record.at)),
          h('a', { href: hrefOf(['threads', thread, 'steps']) }, callWords(record)),
          h(
            'span',
            null,
            record.changes.slice(0, 20).map(({ op, path }) =>
              h(
                'a',
                {
                  key: path,
                  class: 'changed-path',
                  href: hrefOf(['threads', thread, 'files'], { file: path, at: String(record.seq) }),
                },
                `${signs[op] ?? op} ${plainText(path)}`,
              ),
            ),
            record.changes.length > 20
              ? h('span', { class: 'muted' }, `20 of ${plural(record.changes.length, 'change')}`)
              : null,
          ),
        ),
      ),
    ),
  )
}
