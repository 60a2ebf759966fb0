/** The thread machine as data, for those who show it. The types are public, so they name no package. */

/** One move of a state: of those for a record, the first whose guard holds is taken. */
export interface MachineEdge {
  readonly from: string
  /** The type of the record that makes the move. */
  readonly on: string
  /** Absent: always. */
  readonly guard?: string
  /** The same as `from`: it stays. */
  readonly to: string
}

export interface MachineOutline {
  readonly initial: string
  /** The places where a thread can stand: the gate, then the work. */
  readonly states: readonly string[]
  readonly edges: readonly MachineEdge[]
}
