/**
 * One JavaScript engine in WebAssembly, for one run. Owns its memory and the ways to stop it; knows nothing of the
 * code.
 *
 * - The memory of the code is bounded by the maximum of a `WebAssembly.Memory` of its own. The engine's own limit
 *   counts allocations, not bytes.
 * SM2 The engine is entered only through `enter`, which always returns: by the interrupt handler, which the engine
 *     calls in loops, calls and regular expressions, or else by the watchdog, which also ends what never calls it
 *     (`[].forEach.call({ length: 2 ** 53 })`).
 * - An engine is never freed or reused; dropping it releases all of its memory.
 */
import packaged from '@jitl/quickjs-wasmfile-release-sync'
import { newQuickJSWASMModuleFromVariant } from 'quickjs-emscripten-core'
import type { QuickJSContext, QuickJSSyncVariant } from 'quickjs-emscripten-core'
import { wasm } from './wasm.js'
import type { WasmMemory, WasmModule, WasmReady } from './wasm.js'
import { watched } from './watchdog.js'

export interface Machine {
  readonly context: QuickJSContext
  /** The engine was refused memory, and had to continue without. */
  exhausted(): boolean
  /** Whether a text of so many bytes can be passed in: the binding does not check its allocation. */
  fits(bytes: number): boolean
  /** Runs `body`, which may call into the engine. Throws when it takes longer than `limitMs`. */
  enter<T>(body: () => T, limitMs: number): T
}

const pageBytes = 65_536
/** The engine is built for no less. */
const leastPages = 256
/** The engine's own data and stack, below the heap. */
const engineBytes = 5.5 * 2 ** 20

/** The engine's limit for recursion; where V8's own stack (4 MB per thread) ends before, V8 ends it. */
const stackBytes = 192 * 1024

/** Wrapped or not, depending on the loader. */
const variant: QuickJSSyncVariant = 'default' in packaged ? packaged.default : packaged

interface MachineOptions {
  readonly memoryLimitBytes: number
  readonly interrupted: () => boolean
  /** Called when it has allocated so many more pages. */
  readonly onGrown: (pages: number) => void
}

export async function createMachine(
  module: WasmModule,
  { memoryLimitBytes, interrupted, onGrown }: MachineOptions,
): Promise<Machine> {
  const { memory, refused } = createMemory(Math.ceil((engineBytes + memoryLimitBytes) / pageBytes), onGrown)
  const engine = await instantiate(module, memory)
  // The engine needs at least `leastPages`; what exceeds the limit is taken away from the code.
  const rest = leastPages * pageBytes - engineBytes - memoryLimitBytes
  if (rest > 0) engine.heap.take(rest)
  const runtime = engine.quickjs.newRuntime({ maxStackSizeBytes: stackBytes, interruptHandler: interrupted })
  return {
    context: runtime.newContext(),
    exhausted: refused,
    fits(bytes) {
      const address = engine.heap.take(bytes + 1)
      if (address === 0) return false
      engine.heap.give(address)
      return true
    },
    enter: watched,
  }
}

function createMemory(
  pages: number,
  onGrown: (pages: number) => void,
): { readonly memory: WasmMemory; refused(): boolean } {
  const memory = new wasm.Memory({ initial: leastPages, maximum: Math.max(leastPages, pages) })
  onGrown(leastPages)
  const grow = memory.grow.bind(memory)
  let refused = false
  // The allocator first asks for more than it needs: only the last refusal counts.
  memory.grow = (delta) => {
    refused = true
    const before = grow(delta)
    refused = false
    onGrown(delta)
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
    // The result tells what broke.
    print: () => undefined,
    printErr: () => undefined,
  }
  const raw = await load(settings)
  const quickjs = await newQuickJSWASMModuleFromVariant({ ...variant, importModuleLoader: async () => async () => raw })
  return { heap: { take: raw['_malloc'], give: raw['_free'] }, quickjs }
}
