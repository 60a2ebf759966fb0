/**
 * Endpoints of threads (H2): an app answers requests below `/threads/{thread}/api/`, each with the thread that it is
 * about. In a folder app the file gives the route (endpoint-path.ts).
 *
 * - An endpoint runs where the server runs, never in a worker: it is no tool, and no model sees it.
 */

export type EndpointMethod = 'get' | 'post' | 'put' | 'patch' | 'delete'
export type EndpointScope = 'read' | 'write' | 'approve' | 'admin'

/** What stands in place of `[name]` in its path; of `[*]`, under `*`. */
export type EndpointParams = Readonly<Record<string, string>>

export interface EndpointFields {
  /** Its route: `notes/[id].post`. May be left out in a file of a folder app, which gives it. */
  readonly name?: string
  /** For the OpenAPI document. */
  readonly summary?: string
  /** What a key needs. Default: `read` for GET, else `write`. */
  readonly scope?: EndpointScope
}

export interface EndpointDefinition extends EndpointFields {
  readonly kind: 'endpoint'
  readonly name: string
  /** `thread` is the handle of the thread, as `skein.threads.get` gives it. */
  run(request: Request, thread: object, params: EndpointParams): Response | Promise<Response>
}
