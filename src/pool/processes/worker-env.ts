/**
 * The environment of workers: what Node and child processes need, and what the app names (`workers.env`), without the
 * host's secrets. A tool gets the variables that it declares by `state.env`.
 *
 * - A variable of the host that is named neither here nor by the app is not in a worker's `process.env`. That is no
 *   sandbox: code of the same user has other ways to read a process. Untrusted code belongs into `state.runCode`.
 * - Skein's own key is never passed on, not even with `inherit`.
 */

/** Some are of Windows. */
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

/** Such as NODE_AUTH_TOKEN, a password of npm. */
const confidential = /AUTH|TOKEN|SECRET|KEY|PASS/

/** Names of variables, or all. */
export type WorkerEnv = 'inherit' | readonly string[]

export function workerEnv(
  host: Readonly<Record<string, string | undefined>>,
  allowed: WorkerEnv = [],
): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(host)) {
    if (value === undefined || name === 'SKEIN_KEY') continue
    if (allowed === 'inherit' || allowed.includes(name) || isAlwaysAllowed(name.toUpperCase())) env[name] = value
  }
  return env
}

function isAlwaysAllowed(name: string): boolean {
  return names.has(name) || (name.startsWith('NODE_') && !confidential.test(name))
}
