/**
 * What the code said while it ran: its logs and its reports. Owns the caps, so that talk cannot fill the host's memory.
 *
 * - Past a cap a log is dropped and the last log says so; a report is refused, and the code hears it.
 */
import type { CodeResult } from '../../src/tools/code.js'
import type { Json } from '../../src/core/json.js'

export type Log = CodeResult['logs'][number]

export interface GuestOutput {
  log(level: string, text: string): void
  /** Gives why the report was refused. */
  report(json: string): string | undefined
}

const levels = ['log', 'info', 'warn', 'error', 'debug'] as const

export const mostLogs = 1_000
export const mostLogCharacters = 262_144
export const mostReports = 1_000
const mostReportCharacters = 1_048_576
const dropped = `[further logs dropped: only ${mostLogs} logs of ${mostLogCharacters} characters in all are kept]`

/** Who keeps it. */
export interface OutputSink {
  log(log: Log): void
  report(value: Json): void
}

export function createGuestOutput(keeper: OutputSink): GuestOutput {
  let logs = 0
  let reports = 0
  let logRoom = mostLogCharacters
  let reportRoom = mostReportCharacters
  let dropping = false
  return {
    log(level, text) {
      if (dropping) return
      logRoom -= text.length
      dropping = logs++ === mostLogs || logRoom < 0
      keeper.log(
        dropping ? { level: 'warn', text: dropped } : { level: levels.find((known) => known === level) ?? 'log', text },
      )
    },
    report(json) {
      if (reports === mostReports) return `only ${mostReports} reports are taken from one run`
      if (json.length > reportRoom) return `only ${mostReportCharacters} characters of reports are taken from one run`
      reportRoom -= json.length
      reports++
      keeper.report(JSON.parse(json) as Json)
      return undefined
    },
  }
}
