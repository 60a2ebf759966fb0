/** What a person types for a value: JSON where it reads as JSON, else text. */
export function jsonOrText(written: string): unknown {
  try {
    return JSON.parse(written)
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return written
    throw thrown
  }
}
