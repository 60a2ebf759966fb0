/**
 * Limits of the built-in tools: the same for a thread's own files and for a real directory (T11).
 */

/** The size of a result, of a content to write and of a patch. */
export const outputBytes = 200_000

/** The size of a file for `edit`, which reads it into memory. */
export const editBytes = 10_000_000

/** As on Linux. */
export const pathChars = 4096

export const commandChars = 8192
export const commandArgs = 128

export const commandTimeoutMs = 60_000
export const longestTimeoutMs = 3_600_000

export const searchTimeoutMs = 60_000

/** The length of a line that `grep` shows. */
export const lineChars = 2000

/** The number of lines of `grep` and of paths of `glob`. */
export const mostMatches = 10_000

/** For a body on the thread's files that has no limit of its own. */
export const bodyTimeoutMs = 60_000

/** How long a command may exceed its limit before the pool ends it: most end by themselves. */
export const commandLateMs = 250

/** The most for any built-in, whatever a model asks for, unless the app sets `limits.maxToolMs`. */
export const builtinTimeoutMs = 600_000
