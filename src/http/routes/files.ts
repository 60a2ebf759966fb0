/**
 * Routes of a thread's files, values and schedules. Contents are streamed both ways; a path is decoded once, and one
 * with a NUL or `..` is refused before anything is read.
 */
import { jsonResponse } from '../answer.js'
import { z } from 'zod'
import type { Files } from '../../index.js'
import { defined } from '../../core/defined.js'
import { badRequest } from '../problem.js'
import { route } from '../route.js'
import { count, done, flag, isDone, pointInQuery, threadId } from '../schemas.js'

const thread = { thread: threadId }
const filePath = z
  .string()
  .max(4_096)
  .refine((path) => !path.includes('\0') && !path.split('/').includes('..'), 'a path has neither NUL nor ".."')
const file = { ...thread, path: filePath }

const readFile = route({
  method: 'get',
  path: '/threads/{thread}/files/{path*}',
  name: 'read_file',
  summary:
    'A file of a thread (with ranges of bytes), with `list` the entries of a directory, with `stat` what it is, with ' +
    '`link` what a link is itself and where it leads, with `usage` how much all files take; with `at` as it was then.',
  scope: 'read',
  params: file,
  query: {
    list: flag.optional(),
    stat: flag.optional(),
    link: flag.optional(),
    usage: flag.optional(),
    at: pointInQuery.optional(),
  },
  answer: { status: 200, type: 'bytes', description: 'The content, `{ entries }`, or `{ kind, size, mode, at }`' },
  async run({ skein, params, query, request }) {
    const all = (await skein.threads.get(params.thread)).files
    const files = await (query.at ? all.at(query.at) : all.snapshot())
    const path = `/${params.path}`
    if (query.usage) return jsonResponse(await files.usage())
    if (query.link) return jsonResponse(await linkOf(files, path))
    const stat = await files.stat(path)
    const { kind, size } = stat
    if (query.stat) return jsonResponse(stat)
    if (query.list || kind === 'dir') {
      const names = await files.readdir(path)
      const entries = await Promise.all(
        names.map(async (name) => ({ name, ...(await files.lstat(`${path === '/' ? '' : path}/${name}`)) })),
      )
      return jsonResponse({ path, entries })
    }
    const headers = {
      'content-type': 'application/octet-stream',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
    }
    const range = rangeOf(request.headers.get('range'), size)
    if (range === 'none') return new Response(null, { status: 416, headers: { 'content-range': `bytes */${size}` } })
    const content = bodyOf(files.readStream(path), range ?? { start: 0, end: size })
    const length = String(range ? range.end - range.start : size)
    return new Response(content, {
      status: range ? 206 : 200,
      headers: {
        ...headers,
        'content-length': length,
        ...(range && { 'content-range': `bytes ${range.start}-${range.end - 1}/${size}` }),
      },
    })
  },
})

/** Of a link itself; `target`: as it was written; `real`: what it leads to, where there is something. */
async function linkOf(files: Pick<Files, 'lstat' | 'readlink' | 'realpath'>, path: string): Promise<object> {
  const stat = await files.lstat(path)
  const real = await files.realpath(path).catch(() => undefined)
  const target = stat.kind === 'link' ? await files.readlink(path) : undefined
  return { ...stat, ...defined({ target, real }) }
}

interface ByteRange {
  readonly start: number
  /** The first byte that is not part of it. */
  readonly end: number
}

/** One range of bytes; several at once are answered with all. `none`: it lies outside. */
function rangeOf(header: string | null, size: number): ByteRange | 'none' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === '' && last === '') return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1)
  return start < end ? { start, end } : 'none'
}

/** Reads as far as the range goes, as fast as it is taken. */
function bodyOf(source: AsyncIterable<Uint8Array>, { start, end }: ByteRange): ReadableStream<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]()
  let offset = 0
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        const { done: isOver, value } = offset < end ? await chunks.next() : { done: true, value: undefined }
        if (isOver || !value) {
          controller.close()
          await chunks.return?.()
          return
        }
        const piece = value.subarray(Math.max(0, start - offset), Math.max(0, end - offset))
        offset += value.length
        if (piece.length > 0) return controller.enqueue(piece)
      }
    },
    async cancel() {
      await chunks.return?.()
    },
  })
}

const writeFile = route({
  method: 'put',
  path: '/threads/{thread}/files/{path*}',
  name: 'write_file',
  summary: 'Writes a file of a thread: the body is its content.',
  scope: 'write',
  params: file,
  query: { mode: count(0o777).optional() },
  takesBytes: true,
  answer: { status: 200, description: 'It is durable', schema: done },
  async run({ skein, params, query, request }) {
    if (params.path === '') throw badRequest('name the file: PUT /threads/{thread}/files/notes/a.txt')
    const target = await skein.threads.get(params.thread)
    await target.files.writeStream(`/${params.path}`, chunksOf(request.body), defined(query))
    return isDone
  },
})

async function* chunksOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (body) for await (const chunk of body) yield chunk
}

const removeFile = route({
  method: 'delete',
  path: '/threads/{thread}/files/{path*}',
  name: 'remove_file',
  summary: 'Removes a file, or with `recursive` a directory; with `force` nothing there is fine.',
  scope: 'write',
  params: file,
  query: { recursive: flag.optional(), force: flag.optional() },
  answer: { status: 204, description: 'It is gone' },
  async run({ skein, params, query }) {
    const target = await skein.threads.get(params.thread)
    await target.files.rm(`/${params.path}`, defined(query))
    return undefined
  },
})

const key = { ...thread, key: z.string().min(1).max(1_024) }

const listValues = route({
  method: 'get',
  path: '/threads/{thread}/kv',
  name: 'list_values',
  summary: 'The key-value store of a thread.',
  scope: 'read',
  params: thread,
  query: { prefix: z.string().max(1_024).optional() },
  answer: {
    status: 200,
    description: 'In order of their keys',
    schema: z.object({ values: z.array(z.object({ key: z.string(), value: z.json() })) }),
  },
  run: async ({ skein, params, query }) => ({
    values: await (await skein.threads.get(params.thread)).kv.list(query.prefix),
  }),
})

const getValue = route({
  method: 'get',
  path: '/threads/{thread}/kv/{key}',
  name: 'get_value',
  summary: 'One value of a thread.',
  scope: 'read',
  params: key,
  answer: { status: 200, description: 'The value; null where there is none', schema: z.object({ value: z.json() }) },
  run: async ({ skein, params }) => ({
    value: (await (await skein.threads.get(params.thread)).kv.get(params.key)) ?? null,
  }),
})

const setValue = route({
  method: 'put',
  path: '/threads/{thread}/kv/{key}',
  name: 'set_value',
  summary: 'Sets a value of a thread.',
  scope: 'write',
  params: key,
  body: z.strictObject({ value: z.json() }),
  answer: { status: 200, description: 'It is durable', schema: done },
  async run({ skein, params, body }) {
    await (await skein.threads.get(params.thread)).kv.set(params.key, body.value)
    return isDone
  },
})

const deleteValue = route({
  method: 'delete',
  path: '/threads/{thread}/kv/{key}',
  name: 'delete_value',
  summary: 'Removes a value of a thread.',
  scope: 'write',
  params: key,
  answer: { status: 204, description: 'It is gone' },
  async run({ skein, params }) {
    await (await skein.threads.get(params.thread)).kv.delete(params.key)
    return undefined
  },
})

const listSchedules = route({
  method: 'get',
  path: '/threads/{thread}/schedules',
  name: 'list_schedules',
  summary: 'Calls that will be made at a later time.',
  scope: 'read',
  params: thread,
  answer: {
    status: 200,
    description: 'In order of time',
    schema: z.object({ schedules: z.array(z.looseObject({ id: z.string(), tool: z.string(), at: z.number() })) }),
  },
  run: async ({ skein, params }) => ({ schedules: await (await skein.threads.get(params.thread)).schedules() }),
})

const addSchedule = route({
  method: 'post',
  path: '/threads/{thread}/schedules',
  name: 'schedule_call',
  summary: 'Has a tool called at a later time, once.',
  scope: 'write',
  params: thread,
  body: z.strictObject({
    tool: z.string().min(1),
    args: z.record(z.string(), z.unknown()).optional(),
    delayMs: z.number().int().min(0).optional(),
    at: z.number().int().min(0).optional().describe('Milliseconds since 1970'),
  }),
  answer: { status: 201, description: 'Its id', schema: z.object({ id: z.string() }) },
  async run({ skein, params, body: { tool, args = {}, delayMs, at } }) {
    if ((delayMs === undefined) === (at === undefined)) throw badRequest('say when: either delayMs or at')
    const time = at === undefined ? { delayMs: delayMs ?? 0 } : { at }
    return { id: await (await skein.threads.get(params.thread)).schedule(tool, args, time) }
  },
})

const removeSchedule = route({
  method: 'delete',
  path: '/threads/{thread}/schedules/{schedule}',
  name: 'cancel_schedule',
  summary: 'Takes a scheduled call back.',
  scope: 'write',
  params: { ...thread, schedule: z.string().min(1).max(128) },
  answer: {
    status: 200,
    description: 'False where its call was made already, or it was taken back before',
    schema: z.object({ changed: z.boolean() }),
  },
  run: async ({ skein, params }) => ({
    changed: await (await skein.threads.get(params.thread)).unschedule(params.schedule),
  }),
})

export const fileRoutes = [
  readFile,
  writeFile,
  removeFile,
  listValues,
  getValue,
  setValue,
  deleteValue,
  listSchedules,
  addSchedule,
  removeSchedule,
]
