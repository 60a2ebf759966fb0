/**
 * Decisions whose rows have gone: the record has said so, or refuses them. Who was faster is read from the records of
 * the thread, which have the name.
 */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { getJson, pathTo } from '../kit/api.js'
import { timeOfDay } from '../kit/format.js'
import { hrefOf } from '../kit/router.js'
import { mark } from '../kit/ui.js'
import { receiptWords, receipts, setReceipt } from '../kit/write.js'
import type { Receipt } from '../kit/write.js'
import type { PageRecord } from '../thread/thread-records.js'

const newest = 3

/** `here`: ids of what is still listed. Items are named `<thread>/<call>`, other receipts in words. */
export function DecidedItems({ here }: { here: ReadonlySet<string> }): VNode | null {
  const gone = Object.entries(receipts.value).filter(([id]) => /^[^ /]+\/[^ /]+$/.test(id) && !here.has(id))
  if (gone.length === 0) return null
  return h(
    'ul',
    { class: 'decided', 'aria-label': 'Decided' },
    gone.slice(-newest).map(([id, receipt]) => h(DecidedLine, { id, receipt, key: id })),
  )
}

function DecidedLine({ id, receipt }: { id: string; receipt: Receipt }): VNode {
  const isRefused = receipt.phase === 'refused'
  const who = useWinner(id, isRefused)
  return h(
    'li',
    { class: receipt.phase },
    mark(isRefused ? 'cross' : 'check', isRefused ? 'bad' : 'ok'),
    h('a', { href: hrefOf(['threads', id.slice(0, id.indexOf('/'))]) }, id),
    ` ${receiptWords(receipt)} `,
    who === undefined ? null : h('strong', null, `${who} `),
    h('button', { type: 'button', class: 'copy', onClick: () => setReceipt(id, undefined) }, 'Hide'),
  )
}

const deciding: ReadonlySet<string> = new Set(['call.decided', 'call.answered', 'effect.resolved'])

/** Who decided it instead, and when, where the newest records tell. */
function useWinner(id: string, isWanted: boolean): string | undefined {
  const [who, setWho] = useState<string>()
  useEffect(() => {
    const [, thread = '', step, index] = /^([^/]+)\/call_(\d+)_(\d+)$/.exec(id) ?? []
    if (!isWanted || thread === '') return undefined
    const left = new AbortController()
    const query = { before: Number.MAX_SAFE_INTEGER, limit: 200 }
    getJson<{ records: readonly PageRecord[] }>(pathTo`threads/${thread}/records`, { query, signal: left.signal })
      .then(({ records }) => {
        const found = records.findLast(
          (each) => deciding.has(each.type) && each['step'] === Number(step) && each['index'] === Number(index),
        )
        if (found) setWho(`Decided by ${winnerOf(found)} at ${timeOfDay(found.at)}.`)
      })
      .catch(() => setWho(undefined))
    return () => left.abort()
  }, [id, isWanted])
  return who
}

function winnerOf({ decidedBy, answeredBy, resolvedBy }: PageRecord): string {
  const name = decidedBy ?? answeredBy ?? resolvedBy
  return typeof name === 'string' ? name : 'someone else'
}
