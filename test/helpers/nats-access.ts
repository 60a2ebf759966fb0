/**
 * What a server and its users need to know each other: keys, JWTs of an operator, certificates of an own authority,
 * and the permissions that docs/nats.md lists. Owns no server.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nkeys } from '@nats-io/transport-node'
import { onTestFinished } from 'vitest'

type KeyPair = ReturnType<typeof nkeys.createUser>

export function seedOf(pair: KeyPair): string {
  return Buffer.from(pair.getSeed()).toString()
}

export interface Operated {
  /** Lines for the configuration of a server. */
  readonly conf: readonly string[]
  /** Text of a creds file of a user. */
  creds(expiresIn?: number): string
}

/**
 * An operator, an account that has JetStream and its users, all offline: the server is given the account with its
 * configuration.
 */
export function operate(): Operated {
  const [operator, system, account] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createAccount()]
  const unlimited = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 }
  const accountJwt = (pair: KeyPair, name: string, more: object): string =>
    jwt(operator, pair, { name, nats: { type: 'account', version: 2, limits: { ...unlimited, ...more } } })
  const jetstream = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 }
  return {
    conf: [
      `operator: ${jwt(operator, operator, { name: 'O', nats: { type: 'operator', version: 2, system_account: system.getPublicKey() } })}`,
      `system_account: ${system.getPublicKey()}`,
      'resolver: MEMORY',
      `resolver_preload: { ${system.getPublicKey()}: ${accountJwt(system, 'SYS', {})}, ${account.getPublicKey()}: ` +
        `${accountJwt(account, 'A', jetstream)} }`,
    ],
    creds(expiresIn) {
      const user = nkeys.createUser()
      const token = jwt(account, user, {
        name: 'me',
        ...(expiresIn !== undefined && { exp: Math.floor(Date.now() / 1000) + expiresIn }),
        nats: { type: 'user', version: 2, pub: {}, sub: {}, subs: -1, data: -1, payload: -1 },
      })
      return (
        `-----BEGIN NATS USER JWT-----\n${token}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY ` +
        `SEED-----\n${seedOf(user)}\n------END USER NKEY SEED------\n`
      )
    },
  }
}

let numbered = 0

function jwt(issuer: KeyPair, subject: KeyPair, claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const body = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part({ jti: `J${++numbered}`, iat: Math.floor(Date.now() / 1000), iss: issuer.getPublicKey(), sub: subject.getPublicKey(), ...claims })}`
  return `${body}.${Buffer.from(issuer.sign(Buffer.from(body))).toString('base64url')}`
}

export interface Certificates {
  readonly ca: string
  readonly server: { readonly cert: string; readonly key: string }
  readonly client: { readonly cert: string; readonly key: string }
}

/** Files of an authority of our own and of what it signed, removed with the test. */
export function certify(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'skein-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const at = (name: string): string => join(folder, name)
  const openssl = (...args: readonly string[]): void =>
    void execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=authority')
  const signed = (name: string): { cert: string; key: string } => {
    writeFileSync(at('names'), `subjectAltName=DNS:${name}`)
    openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`)
    openssl(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      '-CA',
      'ca.pem',
      '-CAkey',
      'ca.key',
      '-CAcreateserial',
      '-days',
      '2',
      '-extfile',
      'names',
      '-out',
      `${name}.pem`,
    )
    return { cert: at(`${name}.pem`), key: at(`${name}.key`) }
  }
  return { ca: at('ca.pem'), server: signed('localhost'), client: signed('client') }
}

/** The list in docs/nats.md, for one namespace: the very text that an operator copies. */
export function documentedPermissions(namespace: string): string {
  const page = readFileSync(new URL('../../docs/nats.md', import.meta.url), 'utf8')
  const [, block] = /```[a-z]*\n(permissions: \{[\s\S]*?\n\})\n```/.exec(page) ?? []
  if (block === undefined) throw new Error('docs/nats.md has no block of permissions')
  return block.replaceAll('orders', namespace)
}
