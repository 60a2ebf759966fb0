/** A · Approvals and people. What waits for someone. */
import { item, open, proved } from './clause.js'
import type { Section } from './clause.js'

export const people: Section = {
  A1: item(
    'Durable approvals: approve, reject, edit, once',
    proved(
      'A call that needs approval pauses before its body runs',
      'A1: the call waits, durably, with all that someone needs to decide; approved, it runs',
      'A1: a function decides, and one that throws lets nothing run',
    ),
    proved(
      'The entry is durable and has id, thread, path, tool, args, prompt, defaults and the time of asking',
      'A1: the call waits, durably, with all that someone needs to decide; approved, it runs',
      'R2: an approval of a child is in the inbox of the tree, and one stream tells of all threads',
    ),
    proved(
      'It can be approved, or rejected with a comment that the model reads',
      'A1: the call waits, durably, with all that someone needs to decide; approved, it runs',
      'A1: rejected, it never runs, also not after a restart; the model reads who and why',
    ),
    proved(
      'It can be approved with other args, which are validated again',
      'A1: other args are checked again, and the model reads that they were changed',
    ),
    proved(
      'It is decided by the id of its entry',
      'A1: the call waits, durably, with all that someone needs to decide; approved, it runs',
    ),
    open('It is decided by the id of the call alone', 'the id is `<thread>/<call>`'),
    proved('A second decision is refused', 'A1: a second decision, one after cancel and one about nothing are refused'),
    proved(
      'What was rejected never runs',
      'A1: rejected, it never runs, also not after a restart; the model reads who and why',
    ),
    proved(
      'A deadline decides, also when nobody was there',
      'A1: a deadline decides, also when it passed while nobody served the store',
      'A1: the deadline of a queued call begins when someone is asked',
    ),
  ),
  A2: item(
    'Several pending decisions, answered in any order',
    proved(
      'Several wait at once and are answered in any order',
      'A2, T3: several wait, are answered in any order, and hold back only effects behind them; nothing else runs ' +
        'again',
    ),
    proved(
      'Siblings that need no approval run meanwhile',
      'A2, T3: several wait, are answered in any order, and hold back only effects behind them; nothing else runs ' +
        'again',
    ),
    proved(
      'Neither a decision nor a restart runs them again',
      'A2, T3: several wait, are answered in any order, and hold back only effects behind them; nothing else runs ' +
        'again',
      'T3, T4, T5, T6, T7, A2, P1: a journal cut before any record goes on to the same end, and runs nothing ' +
        'finished again',
    ),
  ),
  A3: item(
    'Human-in-the-loop and manual tools',
    proved(
      'A value of `onToolCalled` is the result, `null` waits for a person',
      'A3: onToolCalled answers, or asks a person with null; the answer goes through onResponseReceived and ' +
        'outputSchema,…',
      'D3, A3: null of onToolCalled is held; an answer is what onResponseReceived makes of it, checked',
    ),
    proved(
      'A thread that waits so is `awaiting_human`',
      'A3: a manual tool is answered by whoever called; what does not fit is refused and can be corrected',
    ),
    proved(
      'A later output goes through `onResponseReceived` and `outputSchema`',
      'A3: onToolCalled answers, or asks a person with null; the answer goes through onResponseReceived and ' +
        'outputSchema,…',
    ),
    proved(
      'Manual calls are listed as pending, and whoever called gives their outputs',
      'A3: a manual tool is answered by whoever called; what does not fit is refused and can be corrected',
    ),
  ),
  A4: item(
    'One inbox for all decisions of a tree',
    proved(
      'It lists approvals of every descendant, at any depth',
      'A4, S13: an approval three levels down is answered from the inbox of the tree, also after a restart',
      'R2: an approval of a child is in the inbox of the tree, and one stream tells of all threads',
    ),
    proved(
      'It lists questions and manual calls of descendants',
      'A4, B6: questions and manual calls of a descendant are in the inbox of the tree, and are answered there',
    ),
    proved(
      'Of all trees there is one list, which is watched as one',
      'A4: the inbox of all trees is one list, which is watched without naming a tree',
    ),
    proved(
      'It lists missing variables of descendants',
      'F2, A4, B6: in a child the root’s inbox has it, and a value that is set at the root lets it go on',
      'S6, A4: it stays until what people were asked for its children is given, and the inbox keeps the question',
    ),
    proved(
      'It is the same from any process',
      'C1, A4: when all that is left waits for people, also in children, it exits 3 and says what to type; what ' +
        'is typed is…',
      'C1: inbox, ps and show tell what waits',
    ),
    proved(
      'One subscription tells of the whole tree',
      'A1: the inbox can be watched',
      'C1, S12: names, agents, what each does and waits for, and who waits in line',
    ),
  ),
}
