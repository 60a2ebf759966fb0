import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// Provider packages of another folder than ours (scripts/node.ts): those of today need a newer Node than Skein does.
const aiSdk = process.env['AI_SDK_FOLDER']
const alias = aiSdk === undefined ? [] : [{ find: /^(?=@ai-sdk\/|ai$)/, replacement: `${aiSdk}/node_modules/` }]

const patienceMs = process.env['SOAK'] ? 3_600_000 : 300_000

export default defineConfig({
  resolve: { alias },
  test: {
    globalSetup: ['test/helpers/nats-setup.ts'],
    include: ['test/**/*.test.ts'],
    // Files share processes, and so the modules that those have loaded: a process of its own for each would cost more than most files do.
    // So a file leaves nothing behind: no listener, no variable of the environment, no open store.
    isolate: false,
    // Many wait for processes, so there is one worker more than there are cores.
    maxWorkers: availableParallelism() + 1,
    // Tests count steps, not seconds. These limits end one that hangs, and no test may meet them because the machine is
    // busy: so no test has a shorter one of its own.
    testTimeout: patienceMs,
    hookTimeout: patienceMs,
    // Polls, too, wait until their test is ended.
    expect: { poll: { timeout: patienceMs } },
  },
})
