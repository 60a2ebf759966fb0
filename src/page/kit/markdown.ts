/**
 * Markdown of a model as elements, by a list of what is allowed. It never becomes HTML: tags show as they were written,
 * links go to http, https and mail alone, and an image is a link, because fetching it would tell someone that it was
 * read.
 */
import { h } from './element.js'
import type { ComponentChildren, VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { Lexer } from 'marked'
import type { Token, Tokens } from 'marked'
import { plainText } from './plain-text.js'

const longest = 100_000
const deepest = 12

export function Markdown({ text }: { text: string }): VNode {
  const blocks = useMemo(() => {
    const shown = plainText(text.slice(0, longest))
    return blocksOf(Lexer.lex(shown, { gfm: true, breaks: true }), 0)
  }, [text])
  const rest = text.length > longest ? h('p', { class: 'muted' }, `${text.length - longest} more characters`) : null
  return h('div', { class: 'markdown' }, blocks, rest)
}

/** Undefined: not a link that may be followed. */
function safeLink(href: string): string | undefined {
  return /^(https?:\/\/|mailto:)/i.test(href.trim()) ? href.trim() : undefined
}

function blocksOf(tokens: readonly Token[], level: number): ComponentChildren[] {
  if (level > deepest) return tokens.map(({ raw }) => raw)
  return tokens.map((token) => blockOf(token, level + 1))
}

function isToken<Type extends Tokens.Generic>(token: Token, type: string): token is Type {
  return token.type === type
}

function blockOf(token: Token, level: number): ComponentChildren {
  if (isToken<Tokens.Code>(token, 'code')) return h('pre', { class: 'code' }, h('code', null, token.text))
  if (isToken<Tokens.Heading>(token, 'heading'))
    return h('p', { class: `heading h${token.depth}` }, inline(token, level))
  if (isToken<Tokens.List>(token, 'list')) {
    const items = token.items.map((item) => h('li', null, blocksOf(item.tokens, level)))
    return token.ordered ? h('ol', { start: Number(token.start) || 1 }, items) : h('ul', null, items)
  }
  if (isToken<Tokens.Blockquote>(token, 'blockquote')) return h('blockquote', null, blocksOf(token.tokens, level))
  if (isToken<Tokens.Table>(token, 'table')) return tableOf(token, level)
  if (token.type === 'hr') return h('hr', null)
  if (token.type === 'space' || token.type === 'def') return null
  if (token.type === 'paragraph') return h('p', null, inline(token, level))
  if (token.type === 'text') return inline(token, level)
  return h('p', null, inlineOf(token, level))
}

function tableOf({ header, rows }: Tokens.Table, level: number): VNode {
  const cells = (row: readonly Tokens.TableCell[], tag: 'th' | 'td'): VNode =>
    h(
      'tr',
      null,
      row.map((cell) => h(tag, null, inlines(cell.tokens, level))),
    )
  return h(
    'table',
    null,
    h('thead', null, cells(header, 'th')),
    h(
      'tbody',
      null,
      rows.map((row) => cells(row, 'td')),
    ),
  )
}

function inline(token: Token, level: number): ComponentChildren {
  return 'tokens' in token && token.tokens ? inlines(token.tokens, level) : decoded(token)
}

function inlines(tokens: readonly Token[], level: number): ComponentChildren[] {
  if (level > deepest) return tokens.map(({ raw }) => raw)
  return tokens.map((token) => inlineOf(token, level + 1))
}

function inlineOf(token: Token, level: number): ComponentChildren {
  if (isToken<Tokens.Link>(token, 'link')) return linkOf(token.href, inline(token, level))
  if (isToken<Tokens.Image>(token, 'image')) return linkOf(token.href, `image: ${token.text || token.href}`)
  if (token.type === 'strong') return h('strong', null, inline(token, level))
  if (token.type === 'em') return h('em', null, inline(token, level))
  if (token.type === 'del') return h('del', null, inline(token, level))
  if (isToken<Tokens.Codespan>(token, 'codespan')) return h('code', null, token.text)
  if (token.type === 'br') return h('br', null)
  if (token.type === 'text') return inline(token, level)
  return decoded(token)
}

/** Everything else, tags among it, is shown as it was written. */
function decoded(token: Token): string {
  return token.type === 'escape' && 'text' in token ? String(token.text) : token.raw
}

function linkOf(href: string, children: ComponentChildren): VNode {
  const safe = safeLink(href)
  if (safe === undefined) return h('span', { class: 'no-link', title: href.slice(0, 500) }, children)
  return h('a', { href: safe, target: '_blank', rel: 'noopener noreferrer nofollow', title: safe }, children)
}
