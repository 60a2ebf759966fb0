/**
 * Where the code in workers/ is: beside the sources when Skein runs from them, beside the build otherwise.
 * The one place that knows there are two.
 */
const fromSource = import.meta.url.endsWith('.ts')

const loaded = new Map<string, Promise<unknown>>()

/** Imports a module of workers/ into this process, once: later callers get it without asking the loader. */
export function importWorker(name: string): Promise<unknown> {
  const known = loaded.get(name) ?? import(workerModule(name).href)
  loaded.set(name, known)
  return known
}

function workerModule(name: string): URL {
  return new URL(`../../workers/${name}${fromSource ? '.ts' : '.js'}`, import.meta.url)
}

/** To be started in a thread, which knows no TypeScript: always the build. */
export function workerFile(name: string): URL {
  return new URL(fromSource ? `../../dist/workers/${name}.js` : `../../workers/${name}.js`, import.meta.url)
}
