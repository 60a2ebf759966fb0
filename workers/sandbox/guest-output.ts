/**
 * The output of guest code: its logs and its reports. Owns the caps that keep it from filling the host's memory.
 *
 * - Past a cap logs are dropped, and the last log says so; a report is refused with an error in the code.
 */
import type { CodeResult } from '../../src/tools/code.js'
import type { Json } from '../../src/core/json.js'

export type Log = CodeResult['logs'][number]

export interface GuestOutput {
  log(level: string, text: string): void
  /** Returns why the report was refused, if it was. */
  report(json: string): string | undefined
}

const levels = ['log', 'info', 'warn', 'error', 'debug'] as const

export const mostLogs = 1_000
export const mostLogCharacters = 262_144
export const mostReports = 1_000
const mostReportCharacters = 1_048_576
const dropped = `[further logs dropped: only ${mostLogs} logs of ${mostLogCharacters} characters in all are kept]`

/** Where accepted output goes. */
export interface OutputSink {
  log(log: Log): void
  report(value: Json): void
}

export function createGuestOutput(sink: OutputSink): GuestOutput {
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
      sink.log(
        dropping ? { level: 'warn', text: dropped } : { level: levels.find((known) => known === level) ?? 'log', text },
      )
    },
    report(json) {
      if (reports === mostReports) return `only ${mostReports} reports are taken from one run`
      if (json.length > reportRoom) return `only ${mostReportCharacters} characters of reports are taken from one run`
      reportRoom -= json.length
      reports++
      sink.report(JSON.parse(json) as Json)
      return undefined
    },
  }
}
