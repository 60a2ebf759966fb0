/** Which part of a tree's time is shown: all of it, the last while, or a part. In the address as `win`. Pure. */

export type TimeWindow =
  | { readonly kind: 'all' }
  | { readonly kind: 'last'; readonly ms: number }
  | { readonly kind: 'part'; readonly from: number; readonly to: number }

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

export function readWindow(text: string | undefined): TimeWindow {
  const [, amount, unit] = /^(\d+)([smh])$/.exec(text ?? '') ?? []
  if (amount !== undefined && unit !== undefined) return { kind: 'last', ms: Number(amount) * (units[unit] ?? 1) }
  const [, from, to] = /^(\d+)\.\.(\d+)$/.exec(text ?? '') ?? []
  if (from !== undefined && to !== undefined && Number(from) < Number(to))
    return { kind: 'part', from: Number(from), to: Number(to) }
  return { kind: 'all' }
}

export function writeWindow(shown: TimeWindow): string | undefined {
  if (shown.kind === 'all') return undefined
  return shown.kind === 'last'
    ? `${Math.round(shown.ms / 1_000)}s`
    : `${Math.round(shown.from)}..${Math.round(shown.to)}`
}

const leastMs = 200

/** `bounds`: of all that there is; `now` is in it while something goes on. */
export function timesOf(shown: TimeWindow, [first, last]: readonly [number, number]): readonly [number, number] {
  if (shown.kind === 'part') return [shown.from, shown.to]
  const to = last + Math.max(leastMs / 10, (last - first) * 0.02)
  if (shown.kind === 'last') return [to - shown.ms, to]
  return [first, Math.max(first + leastMs, to)]
}

/** Around the middle, or around the end where that is in sight. */
export function zoomed(times: readonly [number, number], factor: number, now: number): TimeWindow {
  const [from, to] = times
  const span = Math.max(leastMs, (to - from) * factor)
  if (now >= from && now <= to) return { kind: 'part', from: to - span, to }
  const middle = (from + to) / 2
  return { kind: 'part', from: middle - span / 2, to: middle + span / 2 }
}
