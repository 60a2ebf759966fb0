/**
 * The contract: every id of what Skein must do, with a title and its clauses, each with the tests that prove it. The
 * sentences behind the ids are the specification, said here in our own words; docs/conformance.md is written from
 * this, and the names of the tests are checked against it.
 *
 * - A contract id is one letter and a number. Invariants of modules use two letters or more, or one that is free
 *   here.
 */
import type { Section } from './contract/clause.js'
import { beyond } from './contract/beyond.js'
import { calls } from './contract/calls.js'
import { cli } from './contract/cli.js'
import { definitions } from './contract/definitions.js'
import { distribution } from './contract/distribution.js'
import { ecosystem } from './contract/ecosystem.js'
import { hooks } from './contract/hooks.js'
import { http } from './contract/http.js'
import { limits } from './contract/limits.js'
import { observability } from './contract/observability.js'
import { page } from './contract/page.js'
import { people } from './contract/people.js'
import { persistence } from './contract/persistence.js'
import { runs } from './contract/runs.js'
import { sandbox } from './contract/sandbox.js'
import { subagents } from './contract/subagents.js'
import { threads } from './contract/threads.js'
import { tools } from './contract/tools.js'

/** The sections by their titles, in the order of the contract. */
export const sections: Readonly<Record<string, Section>> = {
  'D · Definitions': definitions,
  'T · Tools': { ...calls, ...tools },
  'F · Threads, env, files': threads,
  'S · Subagents': subagents,
  'A · Approvals and people': people,
  'R · Runs and streams': runs,
  'L · Limits': limits,
  'K · Hooks': hooks,
  'P · Persistence and resume': persistence,
  'X · Sandbox': sandbox,
  'H · HTTP': http,
  'C · Command line': cli,
  'O · Observability': observability,
  'N · Distribution': distribution,
  'B · Beyond': beyond,
  'E · Ecosystem': ecosystem,
  'V · The page': page,
}

export const contract: Section = Object.fromEntries(
  Object.values(sections).flatMap((section) => Object.entries(section)),
)

/** True for a label of the contract's form, whether or not the contract has it: `T3`, `T99`. */
export function hasContractForm(label: string): boolean {
  const letter = /^([A-Z])\d+$/.exec(label)?.[1]
  return letter !== undefined && `${letter}1` in contract
}
