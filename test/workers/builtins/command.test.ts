/** Commands as the virtual shell takes them. */
import { expect, it } from 'vitest'
import { toCommand } from '../../../workers/builtins/command.js'

it.each<readonly [cmd: string, args: readonly string[], taken: readonly [cmd: string, args: readonly string[]]]>([
  ['cat', ['a b', '$x'], [`'cat'`, ['a b', '$x']]],
  ["it's", [], [`'it'\\''s'`, []]],
  ['sh', ['-lc', 'echo hi', 'zero', 'one'], [`'sh'`, ['-c', 'echo hi', 'zero', 'one']]],
  ['/bin/bash', ['-l', '-c', 'x'], [`'/bin/bash'`, ['-c', 'x']]],
  ['bash', ['-euo', 'pipefail', '-c', 'x'], [`'bash'`, ['-c', "set -e\nset -u\nset -o 'pipefail'\nx"]]],
  ['bash', ['-o', 'pipefail', '-ec', 'x'], [`'bash'`, ['-c', "set -e\nset -o 'pipefail'\nx"]]],
  ['bash', ['--norc', '-c', 'x'], [`'bash'`, ['-c', 'x']]],
  ['sh', ['script.sh', '-c', 'x'], [`'sh'`, ['script.sh', '-c', 'x']]],
  ['sh', ['--', '-c'], [`'sh'`, ['-c']]],
])('%s %j', (cmd, args, [word, words]) => {
  expect(toCommand(cmd, args)).toEqual({ cmd: word, args: words })
})
