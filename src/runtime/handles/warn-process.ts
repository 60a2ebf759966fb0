/** How an operator is told of something where the app does not say how: as a warning of the process. */

export function isDebugging(): boolean {
  return process.env['SKEIN_DEBUG'] === '1'
}

/** The default of the option `warn`. */
export function warnProcess(what: string, thrown: unknown): void {
  const details = thrown instanceof Error ? (isDebugging() && thrown.stack) || thrown.message : undefined
  process.emitWarning(details === undefined ? what : `${what}: ${details}`, 'SkeinWarning')
}
