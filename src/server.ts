/** The door for services: a handler to mount, and a server of its own. */
export { createHandler } from './http/handler.js'
export { createKey, hashKey } from './http/auth/authenticate.js'
export { serve } from './http/serve.js'
export { bridgeMcp } from './http/bridge-mcp.js'
export { serveMcp } from './http/serve-mcp.js'

export type { HandlerOptions, SkeinHandler } from './http/handler.js'
export type { ApiKey, Auth } from './http/auth/authenticate.js'
export type { Principal, Scope } from './http/auth/principal.js'
export type { ServeOptions, SkeinServer } from './http/serve.js'
export type { McpAddress } from './http/bridge-mcp.js'
export type { McpConnection, ServeMcpOptions } from './http/serve-mcp.js'
export type { ProblemCode } from './http/problem.js'
