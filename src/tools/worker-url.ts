/**
 * Where the code in workers/ is: beside the sources when Skein runs from them, beside the build otherwise.
 * The one place that knows there are two.
 */
const fromSource = import.meta.url.endsWith('.ts')

/** To be imported into this process. */
export function workerModule(name: string): URL {
  return new URL(`../../workers/${name}${fromSource ? '.ts' : '.js'}`, import.meta.url)
}

/** To be started in a thread, which knows no TypeScript: always the build. */
export function workerFile(name: string): URL {
  return new URL(fromSource ? `../../dist/workers/${name}.js` : `../../workers/${name}.js`, import.meta.url)
}
