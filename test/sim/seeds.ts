/**
 * Which seeds an app is tried with: those that ever failed (seeds.json), and the first 60, or as many as `SEEDS=1000`
 * says. A seed means another course of events when faults or apps change; a list of old ones costs little.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'

const onceFailed = z
  .record(z.string(), z.array(z.number().int()))
  .parse(JSON.parse(readFileSync(new URL('./seeds.json', import.meta.url), 'utf8')))

export function seedsOf(app: string, most = Number(process.env['SEEDS'] ?? 60)): readonly number[] {
  return [...new Set([...(onceFailed[app] ?? []), ...Array.from({ length: most }, (_, index) => index + 1)])]
}
