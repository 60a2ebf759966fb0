/**
 * From the options of a NATS store to those of its connection: credentials and TLS. Owns no connection.
 *
 * - Malformed credentials are refused before a server is asked: a mistake in a file is one error at once.
 * - A file of credentials is read again for every connection, so that a renewed one is used; while it is missing or
 *   half written, the last good one counts.
 */
import { readFileSync } from 'node:fs'
import { credsAuthenticator, nkeyAuthenticator } from '@nats-io/transport-node'
import type { Authenticator, NodeConnectionOptions } from '@nats-io/transport-node'
import { defined } from '../../core/defined.js'
import { SkeinError, toFailure } from '../../core/failure.js'
import type { NatsCredentials, NatsOptions } from './nats.js'

type AccessOptions = Pick<NodeConnectionOptions, 'user' | 'pass' | 'token' | 'authenticator' | 'tls' | 'servers'>

export function connectionOf(urls: readonly string[], { credentials, tls }: NatsOptions): AccessOptions {
  return {
    servers: urls.map(withoutSecrets),
    ...(credentials ? fromCredentials(credentials) : fromUrls(urls)),
    ...defined({ tls: tls === true ? {} : tls && checkedTls(tls) }),
  }
}

export function withoutSecrets(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//')
}

/** `user:password@` of the first server that has it; one word alone is a token, as everywhere with NATS. */
function fromUrls(urls: readonly string[]): AccessOptions {
  const [found] = urls.flatMap((url) => /\/\/([^@/]+)@/.exec(url)?.[1] ?? [])
  if (found === undefined) return {}
  const [first = '', ...rest] = found.split(':')
  const word = decodeURIComponent(first)
  return rest.length === 0 ? { token: word } : { user: word, pass: decodeURIComponent(rest.join(':')) }
}

function fromCredentials(credentials: NatsCredentials): AccessOptions {
  if ('user' in credentials) return { user: credentials.user, pass: credentials.password }
  if ('token' in credentials) return { token: credentials.token }
  if ('nkey' in credentials)
    return {
      authenticator: checked(
        'nkey',
        nkeyAuthenticator(Buffer.from(credentials.nkey.trim())),
        'it is the seed of a user and begins with SU',
      ),
    }
  if ('creds' in credentials)
    return { authenticator: checked('creds', credsAuthenticator(Buffer.from(credentials.creds)), credsForm) }
  return { authenticator: fromFile(credentials.credsFile) }
}

const credsForm = 'it is the text of a .creds file: a JWT and a seed, each between its lines of dashes'

function checked(option: string, authenticator: Authenticator, form: string): Authenticator {
  try {
    authenticator('a nonce')
    return authenticator
  } catch (thrown) {
    throw new SkeinError(
      'BAD_OPTION',
      `nats({ credentials: { ${option} } }) cannot be read (${toFailure(thrown, 'BAD_OPTION').message}); ${form}`,
      { cause: thrown },
    )
  }
}

function fromFile(path: string): Authenticator {
  let lastGood: Authenticator | undefined
  const read = (): Authenticator =>
    checked(`credsFile: ${JSON.stringify(path)}`, credsAuthenticator(readFileSync(path)), credsForm)
  const renew = (): Authenticator => {
    try {
      return read()
    } catch (thrown) {
      if (lastGood) return lastGood
      throw thrown instanceof SkeinError
        ? thrown
        : new SkeinError(
            'BAD_OPTION',
            `nats({ credentials: { credsFile: ${JSON.stringify(path)} } }) cannot be read: ` +
              `${toFailure(thrown, 'BAD_OPTION').message}`,
            { cause: thrown },
          )
    }
  }
  lastGood = renew()
  return (nonce) => {
    lastGood = renew()
    return lastGood(nonce)
  }
}

/** Reads the files once: the NATS client does so only when a server asks for TLS, and its error names no file. */
function checkedTls(tls: Exclude<NatsOptions['tls'], true | undefined>): NonNullable<AccessOptions['tls']> {
  for (const file of [tls.caFile, tls.certFile, tls.keyFile]) {
    if (file === undefined) continue
    try {
      readFileSync(file)
    } catch (thrown) {
      throw new SkeinError('BAD_OPTION', `nats({ tls }) cannot be read: ${toFailure(thrown, 'BAD_OPTION').message}`, {
        cause: thrown,
      })
    }
  }
  return tls
}
