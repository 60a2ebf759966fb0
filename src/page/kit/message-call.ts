/** A call as its message has it: the tool, and the args in folds. */
import { h } from './element.js'
import type { VNode } from 'preact'
import type { Message } from '../../index.js'
import { JsonView } from './json-view.js'

export function MessageCall({ call: { tool, args } }: { call: NonNullable<Message['calls']>[number] }): VNode {
  return h('div', { class: 'call' }, h('span', { class: 'tool-name' }, tool), h(JsonView, { value: args, level: 1 }))
}
