/** The endpoints of the app that is served, and which of them answers a request. */
import type { App } from '../agent/app.js'
import type { EndpointDefinition, EndpointMethod, EndpointParams } from '../agent/endpoints/define-endpoint.js'
import { byPrecedence, matchRoute, routeOf } from '../agent/endpoints/endpoint-path.js'
import type { EndpointRoute } from '../agent/endpoints/endpoint-path.js'

export interface EndpointMatch {
  readonly endpoint: EndpointDefinition
  readonly params: EndpointParams
}

export interface ThreadEndpoints {
  /** For each method, the endpoint that answers the path below `api/`. */
  find(path: readonly string[]): ReadonlyMap<EndpointMethod, EndpointMatch>
  list(): readonly EndpointRoute[]
}

/** The app may be replaced at any time. */
export function createEndpoints(app: () => App): ThreadEndpoints {
  const sorted = new WeakMap<App, readonly EndpointRoute[]>()
  const list = (): readonly EndpointRoute[] => {
    const current = app()
    const routes = sorted.get(current) ?? [...current.endpoints.values()].map(routeOf).toSorted(byPrecedence)
    sorted.set(current, routes)
    return routes
  }
  return {
    list,
    find(path) {
      const found = new Map<EndpointMethod, EndpointMatch>()
      for (const route of list()) {
        const params = found.has(route.method) ? undefined : matchRoute(route, path)
        if (params) found.set(route.method, { endpoint: route.endpoint, params })
      }
      return found
    },
  }
}
