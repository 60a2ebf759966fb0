/**
 * Reading from the server that a stream is on, without a consumer: one message, or many of them for one question where
 * the server answers so (2.11 and newer). Owns no state.
 *
 * - It reads what the answering server has: it is used where streams have no replicas.
 * - A question with many answers ends with a status, also when messages were removed meanwhile: nothing is waited for
 *   that cannot come.
 */
import type { Msg, MsgHdrs } from '@nats-io/transport-node'
import { ConnectionCut } from './connection.js'
import type { ServerConnection } from './connection.js'

export interface StreamMessage {
  readonly subject: string
  readonly seq: number
  readonly headers: MsgHdrs
  readonly data: Uint8Array
  /** When the server stored it. */
  readonly at: number
}

export type MessageQuery =
  | { readonly last_by_subj: string }
  | { readonly seq: number; readonly next_by_subj: string }
  | { readonly seq: number }

type BatchQuery = { readonly max_bytes: number } & (
  | { readonly seq: number; readonly next_by_subj: string; readonly batch: number }
  /** The last message of every subject that is found. */
  | { readonly multi_last: readonly string[] }
)

export interface Batch {
  readonly messages: readonly StreamMessage[]
  /** Messages that it leaves out. */
  readonly pending: number
}

const notFound = 404
const tooMany = 413
const endOfBatch = 204
const pendingHeader = 'Nats-Num-Pending'

export async function directGet(
  connection: ServerConnection,
  stream: string,
  query: MessageQuery,
): Promise<StreamMessage | undefined> {
  const asked =
    'last_by_subj' in query
      ? { subject: `${subjectOf(stream)}.${query.last_by_subj}`, payload: '' }
      : { subject: subjectOf(stream), payload: JSON.stringify(query) }
  let found: StreamMessage | undefined
  let failed: Error | undefined
  await connection.read(asked, (message) => {
    const code = message.headers?.code ?? 0
    if (code === 0) found = toMessage(message)
    else if (code !== notFound) failed = refusal(message)
    return 'ended'
  })
  if (failed) throw failed
  return found
}

/** Undefined where the server does not answer so, or would have to give too much. */
export async function directBatch(
  connection: ServerConnection,
  stream: string,
  query: BatchQuery,
): Promise<Batch | undefined> {
  const messages: StreamMessage[] = []
  let pending: number | undefined = 0
  let failed: Error | undefined
  await connection.read({ subject: subjectOf(stream), payload: JSON.stringify(query) }, (message) => {
    const code = message.headers?.code ?? 0
    if (code === 0) {
      messages.push(toMessage(message))
      if (message.headers?.has(pendingHeader)) return 'more'
      pending = undefined // an older server takes it for a question with one answer
    } else if (code === endOfBatch) pending = Number(message.headers?.get(pendingHeader) ?? 0)
    else if (code === tooMany) pending = undefined
    else if (code !== notFound) failed = refusal(message)
    return 'ended'
  })
  if (failed) throw failed
  return pending === undefined ? undefined : { messages, pending }
}

function subjectOf(stream: string): string {
  return `$JS.API.DIRECT.GET.${stream}`
}

function refusal({ headers }: Msg): Error {
  return new ConnectionCut(`the server answered ${headers?.code ?? 0} ${headers?.description ?? ''}`)
}

function toMessage({ headers, data }: Msg): StreamMessage {
  if (!headers) throw new ConnectionCut('the server answered without the place of the message')
  return {
    subject: headers.get('Nats-Subject'),
    seq: Number(headers.get('Nats-Sequence')),
    headers,
    data,
    at: Date.parse(headers.get('Nats-Time-Stamp')),
  }
}
