/**
 * Known bugs that the simulator must find: each is a rule of Skein that can be dropped. For the tests of the simulator
 * alone: no door of the package gives this object away, and nothing else sets it.
 */
export const mutants = {
  /** A model is asked before the outcomes of the step before are durable (TH2, T4). */
  asksEarly: false,
  /** Mail of a child that was had before is heard again (S13). */
  hearsTwice: false,
  /** A call that ran before its turn counts as it is, whatever the calls before it have changed (T3, B1). */
  settlesUnordered: false,
}
