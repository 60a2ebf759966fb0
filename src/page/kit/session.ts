/** What the server says of itself to this page: how often it tells the time, and whether it serves another page now. */
import { signal } from '@preact/signals'
import { getJson } from './api.js'
import { ownBuild } from './router.js'

interface Session {
  readonly heartbeatMs: number
  readonly build: string
}

/** This page is older than the one that the server has: what it shows may be of another form. */
export const isOutdated = signal(false)

export async function readSession(): Promise<Session> {
  const session = await getJson<Session>('view/session')
  isOutdated.value = session.build !== '' && session.build !== ownBuild
  return session
}
