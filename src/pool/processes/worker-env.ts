/**
 * The environment of workers: what Node and child processes need, what the app asks for by name (`workers.env`), and
 * nothing that the host was told in confidence. A tool has the variables that it declares, by `state.env`.
 *
 * - A variable of the host that is named neither here nor by the app is not in a worker's `process.env`. That is no
 *   jail: code of the same user can find other ways to what a process knows. Code that nobody trusts belongs into
 *   `state.runCode`.
 * - Skein's own key is never given, not even to one that inherits everything.
 */

/** Some are Windows'. */
const names = new Set([
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'TEMP',
  'TMP',
  'SYSTEMROOT',
  'USERPROFILE',
  'SKEIN_DEBUG',
])

/** NODE_AUTH_TOKEN is a password of npm's. */
const confidential = /AUTH|TOKEN|SECRET|KEY|PASS/

/** Names of variables, or all. */
export type WorkerEnv = 'inherit' | readonly string[]

export function workerEnv(
  host: Readonly<Record<string, string | undefined>>,
  asked: WorkerEnv = [],
): Record<string, string> {
  const given: Record<string, string> = {}
  for (const [name, value] of Object.entries(host)) {
    if (value === undefined || name === 'SKEIN_KEY') continue
    if (asked === 'inherit' || asked.includes(name) || isGiven(name.toUpperCase())) given[name] = value
  }
  return given
}

function isGiven(name: string): boolean {
  return names.has(name) || (name.startsWith('NODE_') && !confidential.test(name))
}
