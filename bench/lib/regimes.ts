/**
 * The two ways in which W1 is measured, because they differ by a factor. `w1` does as the peers' own harness does:
 * little warm-up, and a forced collection before every turn, which also throws compiled code away. `w1 steady` is a
 * process that has been at work for a while, with nothing forced.
 */
export const regimes = {
  w1: { warm: 5, gc: true, title: 'fresh process, 250 steps of warm-up, forced collections' },
  'w1 steady': { warm: 40, gc: false, title: 'process at work, 2,000 steps of warm-up, nothing forced' },
} as const

export type Regime = keyof typeof regimes
export const regimeNames: readonly Regime[] = ['w1', 'w1 steady']
