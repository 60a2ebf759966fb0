/**
 * Finds many byte patterns in one pass over bytes, overlapping or not (Aho–Corasick).
 *
 * AU1 The work is linear in the length of the text, whatever the patterns are.
 */

export interface Automaton {
  next(state: number, byte: number): number
  /** For each state the length of the longest pattern that ends in it; 0: none. */
  readonly ending: Int32Array
  /** For each state how many of the last bytes are the start of a pattern. */
  readonly depth: Int32Array
}

export function createAutomaton(patterns: readonly Uint8Array[]): Automaton {
  const trie = createTrie(patterns)
  const { edges, root, depth, ending, parent, via } = trie
  /** The failure links: the state of the longest proper suffix. */
  const fall = new Int32Array(depth.length)
  const next = (from: number, byte: number): number => {
    let state = from
    while (state !== 0) {
      const to = edges.get(state, byte)
      if (to !== 0) return to
      state = fall[state] ?? 0
    }
    return root[byte] ?? 0
  }
  // By depth: the failure link of a state leads to a shallower one, which is known by then.
  for (const state of byDepth(depth)) {
    const above = parent[state] ?? 0
    const to = above === 0 ? 0 : next(fall[above] ?? 0, via[state] ?? 0)
    fall[state] = to
    if (ending[state] === 0) ending[state] = ending[to] ?? 0
  }
  return { next, ending, depth }
}

function createTrie(patterns: readonly Uint8Array[]) {
  const most = patterns.reduce((size, pattern) => size + pattern.length, 1)
  const edges = createEdges(most)
  const root = new Int32Array(256)
  const depth = new Int32Array(most)
  const parent = new Int32Array(most)
  const via = new Uint8Array(most)
  const ending = new Int32Array(most)
  let count = 1
  for (const pattern of patterns) {
    let state = 0
    for (const byte of pattern) {
      const known = state === 0 ? (root[byte] ?? 0) : edges.get(state, byte)
      const to = known || count++
      if (known === 0) {
        depth[to] = (depth[state] ?? 0) + 1
        parent[to] = state
        via[to] = byte
        if (state === 0) root[byte] = to
        else edges.set(state, byte, to)
      }
      state = to
    }
    if (state !== 0) ending[state] = pattern.length
  }
  return { edges, root, depth: depth.slice(0, count), parent, via, ending: ending.slice(0, count) }
}

/** Edges as an open-addressing hash table of numbers: filling a Map takes ten times as long. */
function createEdges(most: number) {
  const size = 2 ** Math.ceil(Math.log2(most * 2 + 2))
  const keys = new Float64Array(size)
  const values = new Int32Array(size)
  const slotOf = (key: number): number => {
    let at = (Math.imul(key, 0x9e3779b1) >>> 7) & (size - 1)
    while (values[at] !== 0 && keys[at] !== key) at = (at + 1) & (size - 1)
    return at
  }
  return {
    get: (state: number, byte: number): number => values[slotOf(state * 256 + byte)] ?? 0,
    set(state: number, byte: number, to: number): void {
      const at = slotOf(state * 256 + byte)
      keys[at] = state * 256 + byte
      values[at] = to
    },
  }
}

/** All states but the root, by depth (counting sort). */
function byDepth(depth: Int32Array): Int32Array {
  let most = 0
  for (const each of depth) most = Math.max(most, each)
  const from = new Int32Array(most + 2)
  for (const each of depth) from[each + 1] = (from[each + 1] ?? 0) + 1
  for (let level = 1; level < from.length; level++) from[level] = (from[level] ?? 0) + (from[level - 1] ?? 0)
  const order = new Int32Array(depth.length)
  for (const [state, level] of depth.entries()) {
    order[from[level] ?? 0] = state
    from[level] = (from[level] ?? 0) + 1
  }
  return order.subarray(1)
}
