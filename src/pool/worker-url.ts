/**
 * Where the code in workers/ is: beside the sources when Skein runs from them, beside the build otherwise.
 * The one place that knows there are two.
 */

export function workerUrl(name: string): URL {
  return new URL(`../../workers/${name}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
}
