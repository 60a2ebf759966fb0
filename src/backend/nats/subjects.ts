/**
 * The names of streams and subjects of one namespace, and which partition a thread belongs to. Owns no state.
 *
 * - Every subject begins with the namespace, so that one permission covers it and nothing else.
 * - An id becomes one token of a subject and can be read back unchanged, whatever characters it has.
 * - The partition of a thread depends on its id and the number of partitions alone.
 */
import { hash } from 'node:crypto'
import { SkeinError } from '../../core/failure.js'

export interface Subjects {
  readonly namespace: string
  readonly streams: Readonly<Record<StreamKind, string>>
  /** One message per commit. */
  log(partition: number, root: string, thread: string): string
  /** A pattern, for a thread whose root is not known. */
  logOf(partition: number, thread: string): string
  logOfPartition(partition: number): string
  logOfTree(root: string): string
  readonly logs: string
  /** Commits of all threads, and barriers. */
  readonly everyLog: string
  /** Of a partition, not of a thread: see barrier.ts. */
  barrier(partition: number): string
  mail(partition: number, thread: string): string
  mailOfPartition(partition: number): string
  readonly mails: string
  snapshot(root: string, thread: string): string
  /** A pattern, for a thread whose root is not known. */
  snapshotOf(thread: string): string
  snapshotsOfTree(root: string): string
  readonly snapshots: string
  blob(hash: string): string
  chunk(upload: string, index: number): string
  chunks(upload: string): string
  readonly settings: string
  /** The app that the namespace serves. */
  readonly app: string
  readonly keyCheck: string
  /** A list of blobs that were named by a removed tree. */
  doomed(list: string): string
  readonly doomedLists: string
  owner(partition: number): string
  readonly owners: string
  live(host: string): string
  readonly lives: string
  signal(topic: string): string
  /** Published when a lease was given back. */
  readonly moved: string
  /** Who listens to which signals, and the question for it. */
  readonly interestTold: string
  readonly interestAsked: string
}

export type StreamKind = 'log' | 'mail' | 'snapshots' | 'blobs' | 'meta' | 'live'

export function createSubjects(namespace: string): Subjects {
  const at = (...tokens: readonly (string | number)[]): string => [namespace, ...tokens].join('.')
  const stream = (kind: string): string => `${namespace}_${kind}`
  return {
    namespace,
    streams: {
      log: stream('log'),
      mail: stream('mail'),
      snapshots: stream('snapshots'),
      blobs: stream('blobs'),
      meta: stream('meta'),
      live: stream('live'),
    },
    log: (partition, root, thread) => `${namespace}.log.${partition}.${token(root)}.${token(thread)}`,
    logOf: (partition, thread) => at('log', partition, '*', token(thread)),
    logOfPartition: (partition) => at('log', partition, '>'),
    logOfTree: (root) => at('log', '*', token(root), '*'),
    logs: at('log', '*', '*', '*'),
    everyLog: at('log', '>'),
    barrier: (partition) => at('log', partition),
    mail: (partition, thread) => `${namespace}.mail.${partition}.${token(thread)}`,
    mailOfPartition: (partition) => at('mail', partition, '*'),
    mails: at('mail', '>'),
    snapshot: (root, thread) => at('snapshot', token(root), token(thread)),
    snapshotOf: (thread) => at('snapshot', '*', token(thread)),
    snapshotsOfTree: (root) => at('snapshot', token(root), '*'),
    snapshots: at('snapshot', '>'),
    blob: (name) => at('blob', name),
    chunk: (upload, index) => at('chunk', upload, index),
    chunks: (upload) => at('chunk', upload, '*'),
    settings: at('meta', 'settings'),
    app: at('meta', 'app'),
    keyCheck: at('meta', 'key'),
    doomed: (list) => at('meta', 'doomed', list),
    doomedLists: at('meta', 'doomed', '*'),
    owner: (partition) => at('meta', 'owner', partition),
    owners: at('meta', 'owner', '*'),
    live: (host) => at('live', host),
    lives: at('live', '*'),
    signal: (topic) => at('signal', token(topic)),
    moved: at('moved'),
    interestTold: at('interest', 'told'),
    interestAsked: at('interest', 'asked'),
  }
}

/** The last token of a subject as the id it was made of. */
export function idIn(subject: string): string {
  return idOf(subject.split('.').at(-1) ?? '')
}

/** The root in the subject of a commit. */
export function rootIn(subject: string): string {
  return idOf(subject.split('.').at(-2) ?? '')
}

function idOf(encoded: string): string {
  return encoded.startsWith('=') ? Buffer.from(encoded.slice(1), 'base64url').toString() : encoded
}

/** A control line of the protocol may have 4,096 bytes: two ids and an inbox fit. */
const longestId = 1_000

function token(id: string): string {
  if (/^[\w-]{1,100}$/.test(id)) return id
  const bytes = Buffer.from(id)
  if (bytes.length > longestId)
    throw new SkeinError(
      'BAD_OPTION',
      `the id ${id.slice(0, 40)}… has ${bytes.length} bytes; on NATS an id has ${longestId} at most`,
    )
  return `=${bytes.toString('base64url')}`
}

/** The first 32 bits of the hashes of threads that were asked for last: a commit asks for its thread's seven times. */
const hashes = new Map<string, number>()
const mostHashes = 4_096

export function partitionOf(thread: string, partitions: number): number {
  if (partitions === 1) return 0
  const known = hashes.get(thread)
  if (known !== undefined) return known % partitions
  if (hashes.size >= mostHashes) hashes.clear()
  const first = Number.parseInt(hash('sha256', thread, 'hex').slice(0, 8), 16)
  hashes.set(thread, first)
  return first % partitions
}
