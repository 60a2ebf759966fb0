/** Builds the page (src/page) into dist/page: a document, and assets whose names change with their contents. */
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = fileURLToPath(new URL('../', import.meta.url))

await rm(`${root}dist/page`, { recursive: true, force: true })
await build({
  root: `${root}src/page`,
  // Assets are named relative to what names them: the page works below any path.
  base: './',
  configFile: false,
  logLevel: 'warn',
  publicDir: false,
  build: {
    outDir: `${root}dist/page`,
    emptyOutDir: false,
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  worker: { format: 'es' },
})
