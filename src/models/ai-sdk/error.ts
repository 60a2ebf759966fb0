/**
 * What an AI SDK model throws, or puts into its stream as an error part, as a SkeinError (MP3). Errors are
 * read by structure, so any version of any provider package will do.
 *
 * - The status decides; where a provider answers 200 and puts the error into the stream, its type does.
 *   What says nothing is MODEL_UNAVAILABLE: trying again is harmless, giving up is not.
 * - Only a shortened message with keys masked, the status and the wait are taken over: never the request
 *   body, the headers, the URL or the error itself as `cause`, which holds them all.
 */
import type { Clock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import { isSkeinError, SkeinError } from '../../core/failure.js'
import { isObject } from '../../core/json.js'

type Kind = 'limited' | 'unavailable' | 'rejected'

const kindOfType: Readonly<Record<string, Kind>> = {
  rate_limit_error: 'limited',
  rate_limit_exceeded: 'limited',
  overloaded_error: 'unavailable',
  api_error: 'unavailable',
  timeout_error: 'unavailable',
  server_error: 'unavailable',
  invalid_request_error: 'rejected',
  authentication_error: 'rejected',
  permission_error: 'rejected',
  billing_error: 'rejected',
  not_found_error: 'rejected',
  request_too_large: 'rejected',
  context_length_exceeded: 'rejected',
}

/** Thrown by provider packages before anything was sent: only a change of the app helps. */
const misuse = /^AI_(LoadAPIKey|LoadSetting|InvalidPrompt|InvalidArgument|NoSuchModel|UnsupportedFunctionality)/

const longestMessage = 300

export function toModelError(thrown: unknown, model: string, clock: Clock): SkeinError {
  if (isSkeinError(thrown)) return thrown
  const status = statusOf(thrown)
  const retryAfterMs = waitOf(thrown, clock)
  const detail = messageOf(thrown)
  const data = { model, ...defined({ status, retryAfterMs }) }
  const said = status === undefined ? detail : `status ${status}: ${detail}`
  switch (kindOf(thrown, status)) {
    case 'limited': {
      const message =
        `model ${model} is rate limited (${said}); fewer calls at once or a higher limit at the ` +
        `provider would help`
      return new SkeinError('MODEL_RATE_LIMITED', message, { retry: true, data })
    }
    case 'rejected': {
      const message = `model ${model} refused the request (${said}); ${adviceOn(status, detail)}`
      return new SkeinError('MODEL_REJECTED', message, { retry: false, data })
    }
    case 'unavailable':
      return unavailable(model, said, data)
  }
}

/** What whoever operates it can do: the same request would be refused again. */
function adviceOn(status: number | undefined, detail: string): string {
  const again = 'the same request would be refused again'
  if (status === 401 || status === 403) return `${again}: check the API key and what it may use, then resume the thread`
  if (status === 413 || /too (?:long|large|many)|context (?:length|window)|maximum.{0,20}tokens/i.test(detail)) {
    const less = 'have the prompt read less of it (includePastTools: false, includeChat: false)'
    return (
      `the conversation is too long for it: give the model a fallback that takes more, or ${less}, then ` +
      `resume the thread`
    )
  }
  const ways = [
    'name another model in the prompt',
    'a fallback that takes it',
    'change the message that it refuses (thread.edit, thread.remove)',
  ]
  return `${again}: ${ways.join(', or ')}, then resume the thread; or go back to before it (thread.rewind)`
}

export function unavailable(
  model: string,
  detail: string,
  data: Readonly<Record<string, unknown>> = { model },
): SkeinError {
  const message = `model ${model} did not answer (${detail}); the same request may succeed later`
  return new SkeinError('MODEL_UNAVAILABLE', message, { retry: true, data })
}

function kindOf(thrown: unknown, status: number | undefined): Kind {
  if (status === 429) return 'limited'
  const retryable = isObject(thrown) && thrown['isRetryable'] === true
  if (status !== undefined && status >= 400 && status < 500)
    return retryable || retryableStatuses.has(status) ? 'unavailable' : 'rejected'
  // Below 400 or without a status the error came in the stream; Anthropic's package then makes up a 500.
  for (const type of typesOf(thrown)) {
    const kind = Object.hasOwn(kindOfType, type) ? kindOfType[type] : undefined
    if (kind && !(kind === 'rejected' && retryable)) return kind
  }
  return thrown instanceof Error && misuse.test(thrown.name) ? 'rejected' : 'unavailable'
}

/** Timeout, conflict, too early. */
const retryableStatuses: ReadonlySet<number> = new Set([408, 409, 425])

/** Some providers give the HTTP status as the number `code` of an error part. */
function statusOf(thrown: unknown): number | undefined {
  if (!isObject(thrown)) return undefined
  for (const status of [thrown['statusCode'], thrown['status'], thrown['code']]) {
    if (typeof status === 'number' && status >= 100 && status < 600) return status
  }
  return undefined
}

/** The provider's own words for the kind of error: on the error part, in the decoded body, in its text. */
function typesOf(thrown: unknown): string[] {
  if (!isObject(thrown)) return []
  const body = thrown['data'] ?? decoded(thrown['responseBody'])
  const inner = isObject(body) ? (body['error'] ?? body) : undefined
  const words = [thrown['type'], thrown['code'], ...(isObject(inner) ? [inner['type'], inner['code']] : [])]
  return words.filter((word) => typeof word === 'string')
}

function decoded(text: unknown): unknown {
  if (typeof text !== 'string' || text.length > 10_000) return undefined
  try {
    return JSON.parse(text)
  } catch {
    // An error page instead of JSON says nothing about the type; the status still does.
    return undefined
  }
}

function waitOf(thrown: unknown, clock: Clock): number | undefined {
  if (!isObject(thrown)) return undefined
  const headers = thrown['responseHeaders']
  const exact = Number.parseFloat(header('retry-after-ms', headers) ?? '')
  if (exact >= 0) return Math.ceil(exact)
  const text = header('retry-after', headers)?.trim()
  if (!text) return undefined
  const seconds = Number(text)
  if (seconds >= 0) return Math.ceil(seconds * 1000)
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - clock.now())
}

function header(name: string, headers: unknown): string | undefined {
  if (!isObject(headers)) return undefined
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === name && typeof value === 'string') return value
  }
  return undefined
}

/** The message and those of its causes: "Failed to process response" alone would hide the broken socket. */
function messageOf(thrown: unknown): string {
  const messages: string[] = []
  let current = thrown
  for (let depth = 0; depth < 4 && current !== undefined; depth++) {
    const text = isObject(current) ? current['message'] : current
    if (typeof text === 'string' && text !== '' && !messages.some((other) => other.includes(text))) messages.push(text)
    current = isObject(current) ? current['cause'] : undefined
  }
  const whole = masked(messages.join(': ').replace(/\s+/g, ' ').trim())
  if (whole === '') return 'no message'
  return whole.length > longestMessage ? `${whole.slice(0, longestMessage)}…` : whole
}

function masked(text: string): string {
  return text
    .replace(/\bbearer\s+[^\s"',]+/gi, 'Bearer [masked]')
    .replace(
      /((?:api[-_ ]?key|token|secret|password|authorization|[?&]key)\b[^:=]{0,20}[:=]\s*["']?)(?!bearer )[^\s"',}&]+/gi,
      '$1[masked]',
    )
    .replace(/\b(?:sk|pk|rk|gsk|xai|key)[-_][\w*.-]{6,}|\bAIza[\w-]{10,}/g, '[masked]')
}
