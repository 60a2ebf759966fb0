/**
 * The part of WebAssembly that the sandbox uses, with types: those of Node 20 have none, and those of the browser would
 * bring a page's globals with them.
 */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

export interface WasmMemory {
  grow(delta: number): number
}

interface WasmInstance {
  readonly exports: object
}

/** Compiled code. */
export interface WasmModule {
  readonly [Symbol.toStringTag]?: string
}

interface Wasm {
  readonly Memory: new (size: { readonly initial: number; readonly maximum: number }) => WasmMemory
  readonly Instance: new (module: WasmModule, imports: object) => WasmInstance
  compile(bytes: Uint8Array): Promise<WasmModule>
}

export type WasmReady = (instance: WasmInstance) => void

export const wasm: Wasm = Reflect.get(globalThis, 'WebAssembly')

let compiled: Promise<WasmModule> | undefined

/** Compiles the engine once for a thread and the threads that it starts: compiled code can be sent. */
export function compileWasm(): Promise<WasmModule> {
  compiled ??= readFile(createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync/wasm')).then(
    (bytes) => wasm.compile(bytes),
  )
  return compiled
}
