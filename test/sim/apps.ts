/** All simulated apps. */
import { budgets } from './apps/budgets.js'
import { context } from './apps/context.js'
import { effects } from './apps/effects.js'
import { files } from './apps/files.js'
import { hooks } from './apps/hooks.js'
import { hosts } from './apps/hosts.js'
import { loop } from './apps/loop.js'
import { people } from './apps/people.js'
import { travel } from './apps/travel.js'
import { tree } from './apps/tree.js'
import { unknown } from './apps/unknown.js'
import type { SimulatedApp } from './simulated-app.js'

export const apps: readonly SimulatedApp[] = [
  effects,
  tree,
  files,
  people,
  budgets,
  hosts,
  hooks,
  context,
  loop,
  unknown,
  travel,
]
