/** Conflicts of a merge of files, and the words in which a model is told of them. */

export interface Conflict {
  readonly path: string
  readonly kind:
    /** Both changed a file or the target of a link, or both made one, and the two do not fit together. */
    | 'content'
    /** Both changed a file, and a version of it is not text. */
    | 'binary'
    /** One deleted what the other changed. */
    | 'deleted'
    /** A file, a directory and a link are not merged with one another. */
    | 'kind'
    /** Both changed the mode. */
    | 'mode'
  /** Whose version stands at the path; the child's only where the parent had deleted it. */
  readonly kept: 'ours' | 'theirs'
  /** Where the child's version lies, if there is one. */
  readonly theirs?: string
  /** The mode that the child had given, where that is what was not taken. */
  readonly mode?: number
}

const mostEntries = 50

/** For the one whose files are `ours`. Empty without conflicts. */
export function conflictReport(conflicts: readonly Conflict[]): string {
  if (conflicts.length === 0) return ''
  const more = conflicts.length - mostEntries
  return [
    `${conflicts.length} ${conflicts.length === 1 ? 'conflict' : 'conflicts'} when the child's files were merged ` +
      `into yours; everything else was merged, and nothing was lost. Where there are two versions, compare them, ` +
      `put what is right at the path, and remove the other.`,
    ...conflicts.slice(0, mostEntries).map((conflict) => `- ${entryOf(conflict)}`),
    ...(more > 0 ? [`- and ${more} more: names with ".theirs" in them are versions of the child.`] : []),
  ].join('\n')
}

function entryOf({ path, kind, kept, theirs, mode }: Conflict): string {
  // Quoted: a name may hold anything, line ends too.
  const name = JSON.stringify(path)
  const aside =
    theirs === undefined ? 'Yours is kept.' : `Yours is kept; the child's version is ${JSON.stringify(theirs)}.`
  switch (kind) {
    case 'content':
      return `${name}: both changed it, and the changes do not fit together. ${aside}`
    case 'binary':
      return `${name}: both changed it, and it is not text. ${aside}`
    case 'kind':
      return `${name}: it is a different kind of thing (file, directory, link) on each side. ${aside}`
    case 'mode':
      return (
        `${name}: both changed its mode. Yours is ` +
        `kept${mode === undefined ? '' : `; the child's was ${mode.toString(8)}`}.`
      )
    case 'deleted':
      return kept === 'ours'
        ? `${name}: the child deleted it, you changed it. Yours is kept; delete it if it is not needed.`
        : `${name}: you deleted it, the child changed it. The child's version stands there; delete it if it is ` +
            `not needed.`
  }
}
