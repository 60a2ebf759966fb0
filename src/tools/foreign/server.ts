/**
 * The definition of an MCP server in an app: plain data. An app module is imported by every worker, so nothing is
 * started here; the host connects (src/mcp/connect.ts).
 */
import { z } from 'zod'
import { defined } from '../../core/defined.js'
import { checkOptions } from '../../core/options.js'
import { foreignSchema } from './options.js'
import type { ForeignOptions } from './options.js'

/** A server that is started as a process and spoken to over its standard streams. */
export interface McpProcess {
  readonly name: string
  readonly command: string
  readonly args?: readonly string[]
  /** Besides PATH, HOME and the like, which every server gets. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /**
   * The user and group that it runs as. Default: the host's. Needs a host that runs as root, and setpriv (util-linux).
   */
  readonly uid?: number
  readonly gid?: number
}

/** A server that is reached over streamable HTTP. */
export interface McpEndpoint {
  readonly name: string
  readonly url: string | URL
  readonly headers?: Readonly<Record<string, string>>
}

export interface McpOptions extends ForeignOptions {
  /** Put before the name of each tool: `fs_` makes `fs_read_file` of `read_file`. */
  readonly prefix?: string
  /** Only these, by the names that the server gives. Default: all. */
  readonly tools?: readonly string[]
  /** Tools that may replace the built-in tools of their names; otherwise such a name is an error. */
  readonly replaces?: readonly string[]
}

export type McpDefinition = (McpProcess | McpEndpoint) & { readonly kind: 'mcp'; readonly options?: McpOptions }

const names = z.array(z.string()).optional()
/** Names of tools are checked when the server has told them. */
export const mcpOptionsSchema = foreignSchema.extend({ prefix: z.string().optional(), tools: names, replaces: names })

export function fromMcp(server: McpProcess | McpEndpoint, options?: McpOptions): McpDefinition {
  if (options) checkOptions(mcpOptionsSchema, options, `fromMcp ${JSON.stringify(server.name)}`)
  return { kind: 'mcp', ...server, ...defined({ options }) }
}
