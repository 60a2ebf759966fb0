/**
 * The work that every contender does, and what is counted of it: the same texts, the same tool, the same script.
 * Sizes: system prompt 440 characters, user 145, assistant text 150 before a call, tool result about 205.
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

/** What the model says at a step (from 0) of a turn of `steps` calls: the arg of its call, or undefined at the end. */
export function callAt(step, steps) {
  counts.model++
  return step < steps ? { x: step } : undefined
}

/** Fails the measurement when the work was not done: model calls and tool calls are what they must be. */
export function assertCounts(model, tool) {
  assertEqual('model calls', counts.model, model)
  assertEqual('tool calls', counts.tool, tool)
}

export function assertEqual(what, got, wanted) {
  if (got !== wanted) throw new Error(`${what}: got ${got}, wanted ${wanted}`)
}
