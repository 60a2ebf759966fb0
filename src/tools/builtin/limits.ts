/**
 * What the built-in tools allow, in one place: the same numbers for a thread's own files and for a real directory (T11).
 */

/** Of a result, of a content to write and of a patch. */
export const outputBytes = 200_000

/** Of a file that `edit` takes into memory. */
export const editBytes = 10_000_000

/** As on Linux. */
export const pathChars = 4096

export const commandChars = 8192
export const commandArgs = 128

export const commandTimeoutMs = 60_000
export const longestTimeoutMs = 3_600_000

export const searchTimeoutMs = 60_000

/** Of a line that `grep` shows. */
export const lineChars = 2000

/** Of lines that `grep` and paths that `glob` give. */
export const mostMatches = 10_000
