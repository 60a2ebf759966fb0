import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Files that own no process, port or listener of their machine: they share one process, and so the modules that it has loaded. */
const together = ['actors', 'workers', 'src/agent', 'src/core', 'src/files', 'src/models', 'src/runtime', 'src/tools'].map((folder) => `test/${folder}/**/*.test.ts`)

/** What takes longest, and would make the test command longer than six minutes on two cores: `npm run test:long`. */
const long = ['src/cli/people', 'src/cli/files', 'src/cli/clients', 'workers/sandbox/bombs', 'contract/pool-stuck'].map((file) => `test/${file}.test.ts`)
const left = process.env['LONG'] ? [] : long

// Crash tests start real processes; the rest is instant and needs no such patience.
// Many wait for processes, so there is one worker more than there are cores.
const patience = { testTimeout: 20_000, hookTimeout: 20_000, maxWorkers: availableParallelism() + 1 }

export default defineConfig({
  test: {
    globalSetup: ['test/helpers/nats-setup.ts'],
    projects: [
      { test: { name: 'together', include: together, exclude: left, isolate: false, ...patience } },
      { test: { name: 'apart', include: ['test/**/*.test.ts'], exclude: [...together, ...left], ...patience } },
    ],
  },
})
