/** Which blobs a text names: the search that looks at one character in 64 finds what a look at each would find. */
import { expect, it } from 'vitest'
import { blobsNamedIn } from '../../../src/backend/checks.js'
import { hashOf } from '../../contract/entries.js'

const hash = hashOf(Buffer.from('a blob'))
const other = hashOf(Buffer.from('another'))

it('J10: a blob is found wherever its name begins, in JSON and in JSON that is quoted in JSON', () => {
  for (let before = 0; before < 200; before++) {
    const json = JSON.stringify({ text: 'x'.repeat(before), blob: hash, list: [other] })
    expect(blobsNamedIn(json)).toEqual([hash, other])
    expect(blobsNamedIn(JSON.stringify({ json }))).toEqual([hash, other])
    expect(blobsNamedIn(`${'0'.repeat(before)}"${hash}"`)).toEqual([hash])
  }
})

it('J10: a name is between quotation marks, has 64 digits and is in lower case', () => {
  for (let before = 0; before < 200; before++) {
    const start = 'a'.repeat(before)
    for (const text of [`"${hash}a"`, `"a${hash}"`, `"${hash.slice(1)}"`, ` ${hash}"`, `"${hash}`, `"${hash}'`])
      expect(blobsNamedIn(start + text)).toEqual([])
    expect(blobsNamedIn(`${start}"${'A'.repeat(64)}"`)).toEqual([])
  }
  expect(blobsNamedIn('')).toEqual([])
})
