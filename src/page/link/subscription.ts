/** What a tab looks at, and all tabs of a browser together. Pure data: it goes through a port of a worker. */

/** A state of a tree: numbers of its threads and spans, in one epoch. */
export interface TreePosition {
  readonly epoch: string
  readonly at: readonly [threads: number, spans: number]
}

export interface Subscription {
  readonly roots: boolean
  readonly inbox: boolean
  readonly trees: Readonly<Record<string, TreePosition>>
  /** `<root>/<thread>`: threads whose words are wanted as they come. */
  readonly texts: readonly string[]
}

export const noSubscription: Subscription = { roots: false, inbox: false, trees: {}, texts: [] }

/** Of two who watch a tree in one epoch, the one who knows less decides: the other has no harm of hearing twice. */
export function joined(all: Iterable<Subscription>): Subscription {
  let roots = false
  let inbox = false
  const trees: Record<string, TreePosition> = {}
  const texts = new Set<string>()
  for (const each of all) {
    roots ||= each.roots
    inbox ||= each.inbox
    for (const text of each.texts) texts.add(text)
    for (const [root, position] of Object.entries(each.trees)) trees[root] = earlier(trees[root], position)
  }
  return { roots, inbox, trees, texts: [...texts].sort() }
}

function earlier(one: TreePosition | undefined, other: TreePosition): TreePosition {
  if (one?.epoch !== other.epoch) return other
  return { epoch: one.epoch, at: [Math.min(one.at[0], other.at[0]), Math.min(one.at[1], other.at[1])] }
}

/** What is watched, without where it stands. */
export function watchedIn({ roots, inbox, trees, texts }: Subscription): string {
  return JSON.stringify([roots, inbox, Object.keys(trees).sort(), texts])
}

export function viewQuery({ roots, inbox, trees, texts }: Subscription): string {
  const list = Object.entries(trees).map(([root, { epoch, at }]) => `${root}@${epoch}.${at[0]}.${at[1]}`)
  const parts = [
    roots ? 'roots=1' : '',
    inbox ? 'inbox=1' : '',
    list.length > 0 ? `trees=${encodeURIComponent(list.join(','))}` : '',
    texts.length > 0 ? `texts=${encodeURIComponent(texts.join(','))}` : '',
  ]
  return parts.filter((part) => part !== '').join('&')
}
