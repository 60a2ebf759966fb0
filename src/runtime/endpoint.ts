/** How an endpoint of threads is defined. Part of the door: it loads nothing. */
import type { EndpointDefinition, EndpointFields, EndpointParams } from '../agent/endpoints/define-endpoint.js'
import type { Thread } from './handles/thread.js'

export type { EndpointDefinition, EndpointParams } from '../agent/endpoints/define-endpoint.js'

type EndpointRun = (request: Request, thread: Thread, params: EndpointParams) => Response | Promise<Response>

/** The parameter of `defineThreadEndpoint`, where it is not the function alone. */
export interface Endpoint extends EndpointFields {
  readonly run: EndpointRun
}

export function defineThreadEndpoint(endpoint: EndpointRun | Endpoint): EndpointDefinition {
  const { run, ...fields } = typeof endpoint === 'function' ? { run: endpoint } : endpoint
  return { kind: 'endpoint', name: '', ...fields, run }
}
