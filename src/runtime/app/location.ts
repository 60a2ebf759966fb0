/**
 * Where in the app's own files something was thrown: the first frame of the stack that is neither of Node, nor of
 * Skein, nor of a package. Source maps have put the sources into the stack.
 */
import { fileURLToPath } from 'node:url'

const frame = /(?:\(|at (?:async )?)((?:file:\/\/)?\/[^()]*?)(?:\?again=\d+)?:(\d+):(\d+)\)?$/
/** The folder of this package. */
const own = fileURLToPath(new URL('../../../', import.meta.url))

/** What was thrown as text, after its place: `/app/tools/add.ts:3:9: …`. */
export function whereAndWhy(thrown: unknown): string {
  const why = thrown instanceof Error ? thrown.message : String(thrown)
  const where = thrown instanceof Error ? placeOf(thrown) : undefined
  return where === undefined ? why : `${where}: ${why}`
}

function placeOf({ stack = '' }: Error): string | undefined {
  for (const line of stack.split('\n')) {
    const [, place = '', row, column] = frame.exec(line) ?? []
    const path = place.startsWith('file:') ? fileURLToPath(place) : place
    if (path !== '' && !path.includes('/node_modules/') && !isOwn(path)) return `${path}:${row}:${column}`
  }
  return undefined
}

/** Of Skein itself, and not of an app that is below its folder, as an example or a test is. */
function isOwn(path: string): boolean {
  return ['src', 'actors', 'workers', 'dist'].some((folder) => path.startsWith(`${own}${folder}/`))
}
