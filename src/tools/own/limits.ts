/**
 * What the built-in tools allow, in one place: the same numbers for a thread's own files and for a real directory
 * (T11).
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

/** Of a body on the thread's files that has no time of its own. */
export const bodyTimeoutMs = 60_000

/** How long a command may go on past its time before it is ended from outside: most end by themselves. */
export const commandLateMs = 250

/** How long any built-in may take, whatever a model asks for, where the app does not say (`limits.maxToolMs`). */
export const builtinTimeoutMs = 600_000
