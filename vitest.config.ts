import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Crash tests start real processes; the rest is instant and needs no such patience.
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
})
