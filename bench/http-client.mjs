/**
 * Who asks in W11, in a process of its own: one request after the other on one connection, or many streams at once. A
 * stream that ends is opened again after its last id; what it gave is compared with the journal, event by event.
 */
import { Agent, get, request } from 'node:http'

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const streamAgent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
const clock = () => performance.now()

function post(url, body) {
  const text = JSON.stringify(body)
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      let got = ''
      response.setEncoding('utf8')
      response.on('data', (piece) => (got += piece))
      response.on('end', () => resolve(JSON.parse(got)))
    })
    sent.on('error', reject)
    sent.end(text)
  })
}

async function bareTurn({ url, prompt }) {
  const { thread } = await post(`${url}/threads`, { agent: 'worker' })
  const { result } = await post(`${url}/threads/${thread}/messages?wait=30000`, { text: prompt })
  return result.text
}

/** The thread is created with its message, and the result is the answer. */
async function oneTurn({ url, prompt }) {
  const { result } = await post(`${url}/threads?wait=30000`, { agent: 'worker', message: { text: prompt } })
  return result.text
}

let door

async function doorTurn({ dist, url, prompt }) {
  door ??= (await import(new URL('src/client.js', dist).href)).connect(url)
  const thread = await door.threads.create({ agent: 'worker' })
  return (await thread.send(prompt).result()).text
}

async function timed(count, act) {
  const us = []
  for (let turn = 0; turn < count; turn++) {
    const start = clock()
    const text = await act()
    us.push((clock() - start) * 1_000)
    if (text !== 'done') throw new Error(`the answer was ${text}`)
  }
  return us
}

/** One stream: how many events it gave that are the next ones of the journal, as far as that is known. */
class Reader {
  ids = []
  opened = 0
  bytes = 0
  resets = 0
  #text = ''
  #left = false
  #waits = false
  #request

  constructor(url, keep) {
    this.url = url
    this.keep = keep
  }

  open() {
    return new Promise((resolve) => {
      const last = this.ids.at(-1)
      const nth = ++this.opened
      // An answer that is cut off tells of it twice.
      const again = () => nth === this.opened && this.#again()
      this.#text = ''
      this.#waits = false
      this.#request = get(
        this.url,
        { agent: streamAgent, headers: last === undefined ? {} : { 'last-event-id': last } },
        (response) => {
          response.setEncoding('latin1')
          response.on('data', (piece) => {
            resolve()
            this.#take(piece)
          })
          response.on('close', again)
        },
      )
      this.#request.on('error', again)
    })
  }

  #again() {
    if (!this.#waits) setTimeout(() => this.#left || void this.open(), 100)
    this.#waits = true
  }

  #take(piece) {
    this.bytes += piece.length
    if (!this.keep) return
    this.#text += piece
    let from = 0
    for (let end = this.#text.indexOf('\n\n'); end !== -1; end = this.#text.indexOf('\n\n', from)) {
      if (this.#text.startsWith('id: ', from))
        this.ids.push(shared(this.#text.slice(from + 4, this.#text.indexOf('\n', from))))
      if (this.#text.startsWith('event: reset', from)) this.resets++
      from = end + 2
    }
    this.#text = this.#text.slice(from)
  }

  leave() {
    this.#left = true
    this.#request.destroy()
  }
}

/** A thousand readers keep the same ids. */
const texts = new Map()

function shared(text) {
  const known = texts.get(text)
  if (known !== undefined) return known
  // A slice would hold the piece that it is cut of.
  const own = Buffer.from(text).toString()
  texts.set(own, own)
  return own
}

let readers = []

/** Until all have read as much as there is; each event once, in the order of the journal. */
async function readAll(cursors) {
  while (readers.some(({ ids }) => ids.length < cursors.length)) await new Promise((resolve) => setTimeout(resolve, 50))
  const wrong = readers.filter(({ ids }) => ids.length !== cursors.length || ids.some((id, n) => id !== cursors[n]))
  for (const { ids, opened: times, resets } of wrong.slice(0, 5)) {
    const at = cursors.findIndex((cursor, n) => ids[n] !== cursor)
    const repeated = ids.length - new Set(ids).size
    console.error(
      `${ids.length} of ${cursors.length} events, ${repeated} twice, ${times} connections, ${resets} resets; at ${at}:`,
    )
    console.error(
      `  ${ids
        .slice(0, at + 4)
        .slice(-6)
        .join(' ')} instead of ${cursors
        .slice(0, at + 4)
        .slice(-6)
        .join(' ')}`,
    )
  }
  const opened = readers.reduce((sum, each) => sum + each.opened, 0)
  const mb = readers.reduce((sum, each) => sum + each.bytes, 0) / 2 ** 20
  return { wrong: wrong.length, opened, mb }
}

const orders = {
  bare: (job) => timed(job.count, () => bareTurn(job)),
  one: (job) => timed(job.count, () => oneTurn(job)),
  door: (job) => timed(job.count, () => doorTurn(job)),
  async open({ url, paths, keep = false }) {
    readers = paths.map((path) => new Reader(`${url}${path}`, keep))
    await Promise.all(readers.map((reader) => reader.open()))
    return null
  },
  async leave() {
    for (const reader of readers) reader.leave()
    readers = []
    await new Promise((resolve) => setTimeout(resolve, 500))
    return null
  },
  read: ({ cursors }) => readAll(cursors),
}

process.on('message', async (order) => process.send(await orders[order.kind](order)))
process.on('disconnect', () => process.exit(0))
