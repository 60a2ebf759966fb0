/**
 * The entry points of the runtime: each loads it when it is called.
 *
 * - Importing Skein loads what definitions need and nothing of the runtime. Every worker imports the app, and with it
 *   Skein, and never opens anything.
 */
import type { Finding } from '../core/finding.js'
import type { MachineOutline } from '../core/records/machine-outline.js'
import type { AppWatch, WatchAppOptions } from './app/watch.js'
import type { ConnectOptions, SkeinClient } from './handles/client.js'
import type { DiagnoseOptions } from './diagnose.js'
import type { SkeinOptions } from './options.js'
import type { AppSource } from './app/load.js'
import type { Skein } from './skein.js'

/** A host: serves the threads of a store with an app. */
export async function createSkein(options: SkeinOptions): Promise<Skein> {
  const runtime = await import('./skein.js')
  return runtime.createSkein(options)
}

/** Handles on the threads of a store that another process may serve. */
export async function connectSkein(options: ConnectOptions): Promise<SkeinClient> {
  const runtime = await import('./handles/client.js')
  return runtime.connectSkein(options)
}

/** Tells when a file of an app has changed, for those who reload it. */
export async function watchApp(app: URL | string, options: WatchAppOptions): Promise<AppWatch> {
  const runtime = await import('./app/watch.js')
  return runtime.watchApp(app, options)
}

/** Checks whether a Skein could run here; each finding says what to do about it. */
export async function diagnose(options: DiagnoseOptions): Promise<readonly Finding[]> {
  const runtime = await import('./diagnose.js')
  return runtime.diagnose(options)
}

/**
 * The names of an app as a TypeScript declaration: with it in the project, a name of a tool, agent, prompt, model or
 * skill that the app does not have is a type error.
 */
export async function appTypes(app: AppSource): Promise<string> {
  const runtime = await import('./app/type-map.js')
  return runtime.appTypes(app)
}

/** The statechart of every thread, as data: the same for all of a build. */
export async function machineOutline(): Promise<MachineOutline> {
  const actors = await import('../../actors/thread/machine-outline.js')
  return actors.threadMachineOutline
}
