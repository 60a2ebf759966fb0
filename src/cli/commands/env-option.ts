/** Variables for tools from the command line: `NAME=value`, or `NAME` alone for the value that this process has. */
import type { CliProcess } from '../process.js'

export async function envOf(
  { env: around }: CliProcess,
  given: readonly string[],
  flag = '',
): Promise<Readonly<Record<string, string>>> {
  const { SkeinError } = await import('../../index.js')
  const env = new Map<string, string>()
  for (const entry of given) {
    const [, name = '', value] = /^([^=]*)(?:=(.*))?$/s.exec(entry) ?? []
    if (name.trim() === '')
      throw new SkeinError(
        'BAD_OPTION',
        `${flag === '' ? 'a value' : flag.trim()} names no variable; give NAME=value, or NAME to take it from the ` +
          `environment`,
      )
    const own = value ?? around[name]
    if (own === undefined)
      throw new SkeinError(
        'BAD_OPTION',
        `${flag}${name}: the environment has no ${name}; set it, or give ${flag}${name}=value`,
      )
    env.set(name, own)
  }
  return Object.fromEntries(env)
}
