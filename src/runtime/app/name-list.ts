/** Lists of names in front matter: `Read, Grep`, `Read Grep`, or a list of YAML. */

/** Neither a comma nor a space within brackets separates: `Bash(git add *)` is one. */
const separate = /[\s,]+(?![^()]*\))/

export function splitNames(value: string | readonly string[]): readonly string[] {
  const parts = typeof value === 'string' ? value.split(separate) : value.map((each) => each.trim())
  return [...new Set(parts.filter((part) => part !== ''))]
}
