/** How much is tried: as much as finds mistakes on every run, or, with `npm run soak`, much more. */

export function times(usual: number, soaking: number): number {
  return process.env['SOAK'] ? soaking : usual
}
