import { expect, test } from 'vitest'
import { mostBytes } from '../../../src/core/media.js'
import { toReturn } from '../../../src/mcp/result.js'
import { shownContent } from '../../../src/tools/shown.js'

const data = Buffer.from('a pixel').toString('base64')
const pixel = { mediaType: 'image/png', bytes: new Uint8Array(Buffer.from('a pixel')) }

test('content beside a result: the result and its texts are read, its images shown', () => {
  const content = [
    { type: 'text', text: 'below' },
    { type: 'image', mimeType: 'image/png', data },
    { type: 'image', mediaType: 'image/png', data: pixel.bytes },
  ]
  expect(shownContent({ status: 'success', result: { n: 1 }, content }, { n: 1 })).toEqual({
    text: '{"n":1}\nbelow\n[image image/png, 7 bytes, not shown]\n[image image/png, 7 bytes, not shown]',
    media: [pixel, pixel],
  })
  expect(shownContent({ status: 'success', content: [{ type: 'text', text: 'alone' }] }, undefined)).toEqual({
    text: 'alone',
  })
  expect(shownContent({ status: 'success', result: 1, content: 'no list' }, 1)).toBeUndefined()
  expect(shownContent({ status: 'success', result: 1 }, 1)).toBeUndefined()
})

test('D9: what an MCP server gives is shown; audio and the like are not', () => {
  const returned = toReturn('look', {
    content: [
      { type: 'text', text: 'see' },
      { type: 'image', mimeType: 'image/png', data },
      { type: 'audio', mimeType: 'audio/wav', data },
      { type: 'resource', resource: { uri: 'mem://a', mimeType: 'application/pdf', blob: data } },
    ],
  })
  expect(shownContent(returned, (returned as { result: unknown }).result)).toEqual({
    media: [pixel, { ...pixel, mediaType: 'application/pdf' }],
  })
})

test('what is too large, or too many, is told and not shown', () => {
  const large = { type: 'image', mediaType: 'image/png', data: new Uint8Array(mostBytes + 1) }
  expect(shownContent([large], [large])).toBeUndefined()
  const many = Array.from({ length: 30 }, () => ({ type: 'image', mediaType: 'image/png', data: pixel.bytes }))
  expect(shownContent(many, many)?.media).toHaveLength(20)
})
