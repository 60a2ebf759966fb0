/**
 * The first code that runs inside an engine: `console`, `report`, the functions of the host and the encoding of values.
 * It is text, because it runs inside; the host calls the functions that it returns (`preludeTools`).
 *
 * - Only JSON text crosses, in both directions, in the form that `toJson` gives.
 * - It protects nothing: the code can break it. The host checks what it is passed.
 */

/** The functions that the prelude returns. */
export const preludeTools = ['define', 'link', 'answer', 'settle', 'describe'] as const

export type PreludeTool = (typeof preludeTools)[number]

/** `say(level, json)`, `keep(json)` and `call(index, json)` are the host's; `most` bounds what crosses at once. */
export const prelude = String.raw`(function (say, keep, call, most) {
  'use strict'
  // A global of the job, or the code, may take such a name.
  const { Array, ArrayBuffer, Date, Error, JSON, Map, Number, Object, Promise } = globalThis
  const { RangeError, RegExp, Set, String } = globalThis
  const { stringify, parse } = JSON
  const { keys, defineProperty, prototype: { toString } } = Object
  const { isArray } = Array
  const { isView } = ArrayBuffer
  const { isFinite, isNaN } = Number
  const waiting = new Map()
  const textOf = (value) => { try { return String(value) } catch { return toString.call(value) } }
  const unreadable = (thrown) => '[not readable: ' + textOf(thrown) + ']'
  const read = (value, key) => { try { return value[key] } catch (thrown) { return unreadable(thrown) } }
  const spokenBy = (value, own) => { try { return own.call(value) } catch (thrown) { return unreadable(thrown) } }
  const visible = { writable: true, enumerable: true, configurable: true }
  const define = (target, key, value) => defineProperty(target, key, { value, ...visible })

  // One function, so that a level of nesting costs one frame of the engine's stack.
  const plain = (value, above) => {
    if (typeof value === 'string' || typeof value === 'boolean') return value
    if (typeof value === 'number') return isFinite(value) ? value + 0 : String(value)
    if (typeof value === 'bigint' || typeof value === 'symbol') return String(value)
    if (typeof value === 'function') return '[function ' + (textOf(read(value, 'name')) || 'anonymous') + ']'
    if (value === null || value === undefined) return null
    if (above.includes(value)) return '[cycle]'
    if (above.length === 500) return '[deeper than 500 levels]'
    const path = [...above, value]
    if (value instanceof Date) return isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
    if (value instanceof Error) return { name: textOf(read(value, 'name')), message: textOf(read(value, 'message')) }
    if (value instanceof RegExp) return textOf(value)
    if (value instanceof Promise) return '[promise]'
    if (isView(value) || value instanceof ArrayBuffer) return '[' + value.byteLength + ' bytes]'
    if (value instanceof Map) {
      return plain(Object.fromEntries(Array.from(value, ([key, item]) => [textOf(key), item])), path)
    }
    if (value instanceof Set) return plain([...value], path)
    if (isArray(value)) {
      const items = []
      for (let index = 0; index < value.length; index++) define(items, index, plain(read(value, index), path))
      return items
    }
    const own = read(value, 'toJSON')
    if (typeof own === 'function') return plain(spokenBy(value, own), path)
    const fields = { __proto__: null }
    for (const key of keys(value)) {
      const field = read(value, key)
      if (field !== undefined && typeof field !== 'function') define(fields, key, plain(field, path))
    }
    return fields
  }
  const encode = (value, what) => {
    const text = stringify(plain(value, []))
    if (text.length > most) {
      throw new RangeError(what + ' has ' + text.length + ' characters as JSON; ' + most + ' is the limit')
    }
    return text
  }
  const open = (text) => {
    const { value, error } = parse(text)
    if (error === undefined) return value
    throw defineProperty(new Error(error.message), 'name', { value: error.name, writable: true, configurable: true })
  }
  const spoken = (value) => {
    if (typeof value === 'string') return value
    return value instanceof Error ? textOf(value) : stringify(plain(value, []))
  }
  const expose = (name, value) => defineProperty(globalThis, name, { value, writable: true, configurable: true })
  const speak = (level) => (...values) => { say(level, stringify(values.map(spoken).join(' ').slice(0, 10000))) }

  const log = speak('log')
  const debug = speak('debug')
  const methods = { log, info: speak('info'), warn: speak('warn'), error: speak('error'), debug, trace: debug }
  expose('console', { ...methods, dir: log, table: log })
  expose('report', (value) => {
    const refused = keep(encode(value, 'the report'))
    if (refused !== undefined) throw new RangeError('report: ' + refused)
  })

  return {
    define(text) {
      const values = parse(text)
      for (const name of keys(values)) define(globalThis, name, values[name])
    },
    link(count) {
      const functions = []
      for (let index = 0; index < count; index++) {
        functions[index] = (...args) => {
          const reply = call(index, encode(args, 'the list of args'))
          if (typeof reply === 'string') return open(reply)
          return new Promise((resolve, reject) => waiting.set(reply, { resolve, reject }))
        }
      }
      expose('skein:host', functions)
    },
    answer(id, text) {
      const { resolve, reject } = waiting.get(id)
      waiting.delete(id)
      try { resolve(open(text)) } catch (thrown) { reject(thrown) }
    },
    async settle(entry, name, args) {
      const { exports } = await entry
      if (name !== undefined && typeof exports[name] !== 'function') {
        return stringify({ link: 'the export ' + name + ' is no function' })
      }
      const value = name === undefined ? exports.default : exports[name](...parse(args))
      return '{"value":' + encode(await value, 'the result') + '}'
    },
    describe(thrown) {
      if (!(thrown instanceof Error)) {
        const text = typeof thrown === 'string' ? thrown : stringify(plain(thrown, []))
        return stringify({ name: 'Error', message: 'thrown value: ' + text.slice(0, 10000) })
      }
      return stringify({
        name: textOf(read(thrown, 'name')).slice(0, 200),
        message: textOf(read(thrown, 'message')).slice(0, 10000),
        stack: textOf(read(thrown, 'stack')).slice(0, 10000),
        compiling: read(thrown, 'lineNumber') !== undefined,
      })
    },
  }
})`
