/**
 * The environment of worker threads: what Node and child processes need, and nothing that the host was told in confidence. A
 * tool has the variables that it declares, by `state.env`.
 *
 * TE1 A variable of the host that is not named here is not in a thread's `process.env`. That is no jail: code in the same
 *     process can find other ways to what the process knows. Code that nobody trusts belongs into `state.runCode`.
 */

/** The last four are Windows'. */
const names = new Set(['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'TEMP', 'TMP', 'SYSTEMROOT', 'USERPROFILE'])

/** NODE_AUTH_TOKEN is a password of npm's. */
const confidential = /AUTH|TOKEN|SECRET|KEY|PASS/

export function threadEnv(host: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const given = Object.entries(host).flatMap(([name, value]): [string, string][] => (value !== undefined && isGiven(name.toUpperCase()) ? [[name, value]] : []))
  return Object.fromEntries(given)
}

function isGiven(name: string): boolean {
  return names.has(name) || (name.startsWith('NODE_') && !confidential.test(name))
}
