/** About how many characters a value has as JSON, without making that text. */

const ofOthers = 8

export function textSize(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return ofOthers
  let size = 2
  for (const [name, field] of Object.entries(value))
    size += (Array.isArray(value) ? 1 : name.length + 4) + textSize(field)
  return size
}
