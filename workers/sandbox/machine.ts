/**
 * One JavaScript engine in WebAssembly, for one run. Owns its memory and the ways to stop it; knows nothing of what it
 * runs.
 *
 * - The code's memory is bounded by the maximum of a `WebAssembly.Memory` of its own. The engine's own limit counts
 *   pieces, not bytes.
 * SM2 Nothing enters the engine but through `enter`, which comes back: by the interrupt handler, which the engine asks
 *     in loops, calls and regular expressions, or else by the watchdog, which also ends what never asks
 *     (`[].forEach.call({ length: 2 ** 53 })`).
 * - An engine is never freed or used again; dropping it gives all of its memory back.
 */
import packaged from '@jitl/quickjs-wasmfile-release-sync'
import { newQuickJSWASMModuleFromVariant } from 'quickjs-emscripten-core'
import type { QuickJSContext, QuickJSSyncVariant } from 'quickjs-emscripten-core'
import { wasm } from './wasm.js'
import type { WasmMemory, WasmModule, WasmReady } from './wasm.js'
import { watched } from './watchdog.js'

export interface Machine {
  readonly context: QuickJSContext
  /** The engine asked for more memory than it may have, and had to go on without. */
  exhausted(): boolean
  /** Whether a text of so many bytes can be handed in: the binding writes without looking. */
  fits(bytes: number): boolean
  /** Runs `body`, which may call into the engine. Throws when it takes longer than `limitMs`. */
  enter<T>(body: () => T, limitMs: number): T
}

const pageBytes = 65_536
/** The engine is built for no less. */
const leastPages = 256
/** What the engine's own data and stack take, below the heap. */
const engineBytes = 5.5 * 2 ** 20

/** Recursion is ended by the engine where the stack allows it; past that V8 ends it. A thread has 4 MB of it. */
const stackBytes = 192 * 1024

/** How it is wrapped depends on who loads it. */
const variant: QuickJSSyncVariant = 'default' in packaged ? packaged.default : packaged

interface MachineOptions {
  readonly memoryLimitBytes: number
  readonly interrupted: () => boolean
  /** It has so many more pages. */
  readonly grown: (pages: number) => void
}

export async function createMachine(
  module: WasmModule,
  { memoryLimitBytes, interrupted, grown }: MachineOptions,
): Promise<Machine> {
  const { memory, refused } = createMemory(Math.ceil((engineBytes + memoryLimitBytes) / pageBytes), grown)
  const engine = await instantiate(module, memory)
  // Below what the engine is built for, the rest is taken away from the code.
  const rest = leastPages * pageBytes - engineBytes - memoryLimitBytes
  if (rest > 0) engine.heap.take(rest)
  const runtime = engine.quickjs.newRuntime({ maxStackSizeBytes: stackBytes, interruptHandler: interrupted })
  return {
    context: runtime.newContext(),
    exhausted: refused,
    fits(bytes) {
      const place = engine.heap.take(bytes + 1)
      if (place === 0) return false
      engine.heap.give(place)
      return true
    },
    enter: watched,
  }
}

function createMemory(
  pages: number,
  grown: (pages: number) => void,
): { readonly memory: WasmMemory; refused(): boolean } {
  const memory = new wasm.Memory({ initial: leastPages, maximum: Math.max(leastPages, pages) })
  grown(leastPages)
  const grow = memory.grow.bind(memory)
  let refused = false
  // The engine's allocator asks for more than it needs first: only a last refusal counts.
  memory.grow = (delta) => {
    refused = true
    const before = grow(delta)
    refused = false
    grown(delta)
    return before
  }
  return { memory, refused: () => refused }
}

async function instantiate(module: WasmModule, wasmMemory: WasmMemory) {
  const outer = await variant.importModuleLoader()
  const inner = typeof outer === 'function' ? outer : outer.default
  const load = typeof inner === 'function' ? inner : inner.default
  const settings = {
    wasmMemory,
    instantiateWasm(imports: object, ready: WasmReady) {
      ready(new wasm.Instance(module, imports))
      return {}
    },
    // What the engine has to say when it breaks is told by the result.
    print: () => undefined,
    printErr: () => undefined,
  }
  const raw = await load(settings)
  const quickjs = await newQuickJSWASMModuleFromVariant({ ...variant, importModuleLoader: async () => async () => raw })
  return { heap: { take: raw['_malloc'], give: raw['_free'] }, quickjs }
}
