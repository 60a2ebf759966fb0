/** What a thread is called for people: its name, what its parent calls it, how it began, and at last its id. */

export interface Labelled {
  readonly thread: string
  readonly name?: string
  readonly reference?: string
  readonly title?: string
  readonly parent?: string
}

export function threadLabel({ thread, name, reference, title }: Labelled): string {
  return name ?? reference ?? title ?? thread
}
