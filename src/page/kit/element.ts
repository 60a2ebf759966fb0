/** Makes elements of the page: `h` of Preact with one type for all that it gives, so that parts can be combined. */
import { Component as BaseComponent, h as create } from 'preact'
import type { Attributes, ComponentChildren, JSX, VNode } from 'preact'

type Component<Props> = (props: Props) => VNode | null

export function h<Name extends keyof JSX.IntrinsicElements>(
  name: Name,
  props: JSX.IntrinsicElements[Name] | null,
  ...children: readonly ComponentChildren[]
): VNode
export function h<Props extends object>(
  component: Component<Props>,
  props: (Omit<Props, 'children'> & Attributes) | null,
  ...children: readonly ComponentChildren[]
): VNode
export function h(
  type: string | Component<never>,
  props: object | null,
  ...children: readonly ComponentChildren[]
): VNode {
  const made: VNode = Object(create(Object(type).valueOf(), props, ...children))
  return made
}

/**
 * A component that is rendered again only where its `sign` has changed. (An element that is handed out again and again
 * would do the same, and keep every tree that it was ever part of.)
 */
export function signed<Props extends { readonly sign: string }>(show: (props: Props) => VNode): Component<Props> {
  class Signed extends BaseComponent<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      return next.sign !== this.props.sign
    }

    override render(): VNode {
      return show(this.props)
    }
  }
  const component: Component<Props> = Object(Signed).valueOf()
  return component
}
