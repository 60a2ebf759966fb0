/**
 * What the carried NATS client does otherwise with long messages. One that comes in pieces is put together in memory of
 * its own length, which the client would double and copy as it grows; one that goes out is written from where it is,
 * which the client would copy to the rest. Each is a third of the time that a chunk of a blob takes on its host.
 *
 * - The payload of a message must stay as it is until the message is acknowledged, or its connection is closed.
 */
import { readFile } from 'node:fs/promises'
import type { Plugin } from 'esbuild'

interface Change {
  readonly file: RegExp
  readonly from: string
  readonly to: string
}

const changes: readonly Change[] = [
  {
    file: /\/nats-core\/lib\/parser\.js$/,
    from: 'this.msgBuf = new denobuffer_1.DenoBuffer(buf.subarray(this.as));',
    to: `this.msgBuf = new denobuffer_1.DenoBuffer();
         this.msgBuf.grow(this.ma.size);
         this.msgBuf.write(buf.subarray(this.as));`,
  },
  {
    file: /\/nats-core\/lib\/protocol\.js$/,
    from: `            const d = this.outbound.drain();
            this.transport.send(d);
`,
    to: `
      const longest = 32 * 1024;
      const { socket } = this.transport;
      if (this.outbound.size() < longest || !socket) return this.transport.send(this.outbound.drain());
      const parts = this.outbound.buffers;
      this.outbound = new databuffer_1.DataBuffer();
      const short = new databuffer_1.DataBuffer();
      const sendShort = () => { if (short.size()) this.transport.send(short.drain()); };
      socket.cork();
      for (const part of parts) {
        if (part.length < longest) short.fill(part);
        else {
          sendShort();
          this.transport.send(part);
        }
      }
      sendShort();
      socket.uncork();
`,
  },
]

/** Of a changed file its licence wants it; the bundle keeps it. */
const notice = '/*! Changed for Skein: long messages are not copied (scripts/vendor-nats.ts). */'

export const longMessages: Plugin = {
  name: 'long-messages',
  setup(building) {
    for (const { file, from, to } of changes)
      building.onLoad({ filter: file }, async ({ path }) => {
        const [before, after, ...more] = (await readFile(path, 'utf8')).split(from)
        if (after === undefined || more.length > 0) throw new Error(`${path} handles messages in another way`)
        return { contents: `${notice}\n${before}${to}${after}` }
      })
  },
}
