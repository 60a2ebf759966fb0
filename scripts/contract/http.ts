/** H · HTTP. The service. */
import { item, proved } from './clause.js'
import type { Section } from './clause.js'

export const http: Section = {
  H1: item(
    'The HTTP interface and its OpenAPI document',
    proved(
      'Threads, messages (202), files, kv and schedules',
      'H1: a thread is created once by its id, listed, read, and deleted',
      'H1: a message is accepted with 202, once for one Idempotency-Key, and its run is read',
      'H1: files are streamed both ways, listed, read in ranges and removed; a path cannot escape',
      'H1: values and schedules',
    ),
    proved(
      'Lists are searched and sorted, whole trees counted, and messages read from the newest back',
      'H1: threads are searched, sorted and counted, and messages read from the newest back',
    ),
    proved(
      'Stop, resume, terminate, tree and variables',
      'H1: a turn is stopped, a thread paused, resumed and terminated; each says whether it changed anything',
      'H1, S6: the tree, and a request for variables: two POSTs at once start one child, incomplete ones none',
    ),
    proved(
      'Approvals and inbox',
      'H1, A4: what waits for a person is in the inbox; approve needs its scope, and a second decision is refused',
    ),
    proved(
      'Tool results, effects, usage, lists of agents, tools and models',
      'H1, A3: the output of a call that waits for a person is given once, and its turn goes on',
      'H1, B2: effects are listed, unknown ones first; who may approve resolves one, once, under the name of its key',
      'H1: agents, tools and models of the app, and what a model would read',
      'H1: a message is accepted with 202, once for one Idempotency-Key, and its run is read',
    ),
    proved(
      'A stream of server-sent events that goes on after `Last-Event-ID`',
      'H1, R2: events of a thread are streamed from a cursor, each once; the stream opens before the first event',
    ),
    proved(
      'Health and metrics',
      'H1: a server whose store is away is alive and not ready, and ready again when it is back',
      'O1: metrics count turns, steps, tokens, cost and calls by names of definitions, for keys that are bound to nothing',
      'O1: a host that counts nothing has no metrics, and says how to have them',
    ),
    proved(
      'A thread, its first message and the result in one request, which can be sent again',
      'H1: a thread is created with its first message, and its result comes in one answer; sent again it is one',
    ),
    proved(
      'Streams of many clients of one tree share what they are told; slow clients are bounded, and so is what a key has open',
      'R2, TF1: clients that come at any time are given each event once, and the journal is read for one of them',
      'R2, TF2: a client that does not read is cut off, its tree holds no more than it may, and it goes on by its id',
      'R2, TF3: who comes late is given the text so far, once, and then what follows it',
      'R2: a reader that falls behind by megabytes is told, however few events they are',
      'H4: a key may have so many streams open and no more; one that is closed makes room',
    ),
    proved(
      'An OpenAPI document from the same zod schemas',
      'H1: the OpenAPI document has every route with its scope, and its examples of input are those of the schemas',
    ),
    proved(
      'Errors as problem JSON with stable codes',
      'H1: what is wrong is a problem with a stable code, and nothing happened',
      'H1, H3: whatever is sent to any route, the server answers, and no answer is a fault of its own',
    ),
  ),
  H2: item(
    'Thread endpoints by file routing',
    proved(
      '`defineThreadEndpoint` is routed by its file: method suffix, `[name]`, `[*]`; static before dynamic before ' +
        'catch-all',
      'H2: a file gives the route: method suffix, index, [name], [*]; static before dynamic before catch-all',
      'D2, H2: files in api/ and its folders are endpoints; two of one route and wrong names are mistakes',
    ),
    proved(
      'An endpoint has the handle of its thread, and its scope and the limits hold',
      'H2: an endpoint has the thread, the body and the query; it answers what it likes, and scopes and limits hold',
      'H2: the client asks endpoints; an app that is loaded again has its new ones at once',
    ),
  ),
  H3: item(
    'Auth by scoped keys; closed by default beyond loopback',
    proved(
      'Bearer keys with the scopes read, write, approve and admin',
      'H3: every route but health needs a key, and the same is said of a wrong one',
      'H3: a key does what its scopes say: write reads, approve is apart, admin is all',
    ),
    proved(
      'Tokens that are bound to a tree',
      'H3: a tree token is for one tree, for a time, and ends with its tree',
      'H3: a key that is bound to a tag sees its trees alone, in every list and on every route',
      'H3: a stream ends with the token that it was opened with',
      'H3: an id that another tenant has is not there, whatever agent is asked for',
      'H3: a list among the threads of others is read in few pages, and its cursors go on',
      'H3, E4, E5: who a function of the service binds to a tag may use A2A and MCP',
      'H3: nobody takes the id that the server makes for the conversation of another',
      'H3: keys of one name are for the same trees',
    ),
    proved(
      'Bound to anything but loopback it refuses by default',
      'H3: who may use it must be said, and without keys only on loopback',
      'H3: without keys a server answers to names of its machine alone',
    ),
    proved(
      'Body limits; CORS is off by default',
      'H1: what is wrong is a problem with a stable code, and nothing happened',
      'H3: pages of other sites get no header; those that may get theirs, and a preflight is answered',
      'H3: a page of another site changes nothing by what a browser sends by itself',
    ),
  ),
  H4: item(
    'Handlers that mount in an existing service',
    proved(
      'A fetch handler that mounts under any path',
      'H4: Hono',
      'H4: route handlers that get a whole request, as those of Next.js',
      'H1, H4: 18-next-and-usechat: a page is closed, another goes on with the answer, and a person approves in the chat',
    ),
    proved(
      'A Node handler that mounts under any path',
      'H4: Express 5',
      'H4: Fastify 5',
      'H4: plain node:http; two skeins in one process have nothing in common',
    ),
    proved(
      'The image and the services that come with it begin with commands that there are',
      'H4: the entry of the image is the program of the package, and runs what is copied in, without a key of its own',
      'H4: the services of the compose file begin with commands that there are, and wait for each other',
    ),
    proved('No global state: two skeins in one process do not meet', 'on two stores they do not meet'),
  ),
}
