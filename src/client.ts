/** The door for programs that reach a skein over HTTP: `fetch` alone, in Node and in browsers. */
export { connect } from './client/connect.js'
export { SkeinError } from './core/failure.js'

export type {
  RemoteCreateThread,
  RemoteEndpointRequest,
  RemoteHeads,
  RemoteInbox,
  RemoteSkein,
  RemoteStreamEvent,
  RemoteStreamOptions,
} from './client/connect.js'
export type { RemoteFiles, RemoteFilesThen } from './client/files.js'
export type { RemoteRun } from './client/run.js'
export type { RemoteSendMessage, RemoteSendOptions, RemoteThread } from './client/thread.js'
export type { RemoteTravel } from './client/travel.js'
export type { RemoteOptions } from './client/transport.js'
export type { RemoteProjection, RemoteThreadChange, RemoteThreadView } from './client/view.js'
