/**
 * The work that every contender does, and what is counted of it: the same texts, the same tool, the same script.
 * Sizes: system prompt 440 characters, user 145, assistant text 150 before a call, tool result about 205.
 * Worker threads import it too: it must not be dear to load.
 */
export const system = 'You are a careful assistant. Use the tools. '.repeat(10)
export const prompt = 'Do the work item and report. '.repeat(5)
export const text = 'Looking at the next item now. '.repeat(5)
const result = 'x'.repeat(200)

export const counts = { model: 0, tool: 0 }

export function resetCounts() {
  counts.model = 0
  counts.tool = 0
}

/** The body of the one tool. */
export function trivial(x) {
  counts.tool++
  return `ok:${x}:${result}`
}

/** The body of W2: pure computing, the same for everybody. */
export function hash(seed, iterations) {
  let value = 2166136261 ^ seed
  for (let round = 0; round < iterations; round++) {
    value ^= round & 0xff
    value = Math.imul(value, 16777619)
  }
  return `h:${value >>> 0}`
}

/** The same on the thread of the loop, counted. */
export function hashHere({ seed, iterations }) {
  counts.tool++
  return hash(seed, iterations)
}

/** What the model of W2 says: all calls in one step, then the end. */
export function hashesAt(step, { calls, iterations }) {
  counts.model++
  return step === 0 ? Array.from({ length: calls }, (_, seed) => ({ seed, iterations })) : undefined
}

/** Fails the measurement unless every call did its work, in order. */
export function assertHashes(results, { calls, iterations }) {
  assertEqual('results', results.length, calls)
  for (const [seed, given] of results.entries()) assertEqual(`result of call ${seed}`, given, known(seed, iterations))
}

const hashes = new Map()

function known(seed, iterations) {
  const key = `${seed}/${iterations}`
  if (!hashes.has(key)) hashes.set(key, hash(seed, iterations))
  return hashes.get(key)
}

/** What the model says at a step (from 0) of a turn of `steps` calls: the arg of its call, or undefined at the end. */
export function callAt(step, steps) {
  counts.model++
  return step < steps ? { x: step } : undefined
}

/** W3: what a child does before its answer, and what it answers. */
const childSteps = 2
const childCalls = [{ x: 0 }, { x: 1 }]
export const report = 'This item is done.'

/** What the model of a child of W3 says at a step: the args of its calls, or undefined for its answer. */
export function childCallsAt(step) {
  counts.model++
  return step < childSteps ? childCalls : undefined
}

/** As many calls as one reply may have. */
const mostOfReply = 10_000

/** What the model of the parent says: one item for each child, in as few replies as take them all, then the end. */
export function itemsAt(step, children) {
  counts.model++
  const first = step * mostOfReply
  const length = Math.min(mostOfReply, children - first)
  return length > 0 ? Array.from({ length }, (_, index) => `item ${first + index}`) : undefined
}

/** W3: three model calls and four tool calls of each child, one model call of the parent for each of its steps. */
export function assertChildren(children) {
  const parent = Math.ceil(children / mostOfReply) + 1
  assertCounts(children * (childSteps + 1) + parent, children * childSteps * childCalls.length)
}

let barrier

/** From now on, children wait before their answer until `count` of them do, and `full` has run. */
export function holdChildren(count, full) {
  let release
  const released = new Promise((resolve) => (release = resolve))
  let here = 0
  barrier = () => {
    if (++here === count) void full().finally(release)
    return released
  }
}

/** A promise while children are held, else undefined: a contender that needs none gets none. */
export function beforeReport() {
  return barrier?.()
}

/** Fails the measurement when the work was not done: model calls and tool calls are what they must be. */
export function assertCounts(model, tool) {
  assertEqual('model calls', counts.model, model)
  assertEqual('tool calls', counts.tool, tool)
}

export function assertEqual(what, got, wanted) {
  if (got !== wanted) throw new Error(`${what}: got ${got}, wanted ${wanted}`)
}
