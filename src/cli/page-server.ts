/** The page (`/ui`) for people at this machine: a server on loopback that asks nobody for a key. */
import type { SkeinClient } from '../index.js'
import type { SkeinServer } from '../server.js'

const usualPort = 4100

export interface PageServer extends SkeinServer {
  /** What is opened in a browser. */
  readonly page: string
}

/** `port` undefined: the usual one, or any that is free where that is taken. */
export async function servePageOf(skein: SkeinClient, port?: number): Promise<PageServer> {
  const { serve } = await import('../server.js')
  const at = (number: number): Promise<SkeinServer> => serve(skein, { auth: 'none', port: number })
  const server = await (port === undefined ? at(usualPort).catch(() => at(0)) : at(port))
  return { ...server, page: pageOf(server.url) }
}

export function pageOf(url: string): string {
  return `${url}/ui/`
}
