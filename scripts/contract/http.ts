/** H · HTTP. The service. There is none yet. */
import { item, open, proved } from './clause.js'
import type { Section } from './clause.js'

export const http: Section = {
  H1: item(
    'The HTTP interface and its OpenAPI document',
    open('Threads, messages (202), stop, resume, terminate, tree, files, kv and variables'),
    open('Approvals, inbox, tool results, effects, usage, lists of agents, tools and models'),
    open('A stream of server-sent events that goes on after `Last-Event-ID`'),
    open('Health and metrics'),
    open('An OpenAPI document from the same zod schemas'),
    open('Errors as problem JSON with stable codes'),
  ),
  H2: item(
    'Thread endpoints by file routing',
    open(
      '`defineThreadEndpoint` is routed by its file: method suffix, `[name]`, `[*]`; static before dynamic before ' +
        'catch-all',
    ),
  ),
  H3: item(
    'Auth by scoped keys; closed by default beyond loopback',
    open('Bearer keys with the scopes read, write, approve and admin'),
    open('Tokens that are bound to a tree'),
    open('Bound to anything but loopback it refuses by default'),
    open('Body limits; CORS is off by default'),
  ),
  H4: item(
    'Handlers that mount in an existing service',
    open('A fetch handler that mounts under any path'),
    open('A Node handler that mounts under any path'),
    proved('No global state: two skeins in one process do not meet', 'on two stores they do not meet'),
  ),
}
