/** Lists of names in front matter: `Read, Grep`, `Read Grep`, or a list of YAML. */

/** Each once. Nothing within brackets separates: `Bash(git add *)` is one. */
export function splitNames(value: string | readonly string[]): readonly string[] {
  if (typeof value !== 'string') return [...new Set(value.map((each) => each.trim()))].filter((name) => name !== '')
  const names: string[] = []
  let depth = 0
  let from = 0
  for (let at = 0; at <= value.length; at++) {
    const char = value[at] ?? ','
    if (char === '(') depth++
    if (char === ')') depth--
    const isEnd = at === value.length || (depth <= 0 && /[\s,]/.test(char))
    if (!isEnd) continue
    names.push(value.slice(from, at))
    from = at + 1
  }
  return splitNames(names)
}
