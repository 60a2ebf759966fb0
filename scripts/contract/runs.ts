/** R · Runs and streams. What a caller sees of a turn. */
import { item, proved } from './clause.js'
import type { Section } from './clause.js'

export const runs: Section = {
  R1: item(
    'A run handle with results and streams for any number of consumers',
    proved('`send` takes a text or a message', 'R1: is a text, or an object with the text and the options in it'),
    proved(
      '`text()`, `result()`, `toolCalls()` and `pendingToolCalls()`',
      'F1, R1: a message, two calls and an answer',
      'A1: the call waits, durably, with all that someone needs to decide; approved, it runs',
    ),
    proved(
      '`result()` has the stop reason',
      'R1: run(id) reopens a run, in the same process and after a restart, also by a message that steered it',
    ),
    proved('`result()` has usage and cost', 'F1, R1: a message, two calls and an answer'),
    proved(
      'There are streams of text, reasoning, tools, calls, messages and all events',
      'R1: all of them see the whole run, at once and after the end, and tools run once',
    ),
    proved(
      'There is a stream of context updates',
      'T9: contexts are read live, merged, kept over a restart, and streamed when they count',
    ),
    proved(
      'Any number of consumers see all of it, and tools run once',
      'R1: all of them see the whole run, at once and after the end, and tools run once',
      'R1, R2: fullStream is of the whole tree below the turn, for early and late consumers, and of nothing else',
    ),
    proved(
      'A late consumer gets the whole run',
      'R1: all of them see the whole run, at once and after the end, and tools run once',
      'R1: run(id) reopens a run, in the same process and after a restart, also by a message that steered it',
    ),
  ),
  R2: item(
    'One subscription for a tree, resumable, with told gaps',
    proved(
      'One subscription streams a whole tree, each event with the path of its thread and its sequence',
      'R2: a tree is told apart from its neighbours, and every event says where it is from',
      'R2: an approval of a child is in the inbox of the tree, and one stream tells of all threads',
      'R1, R2: fullStream is of the whole tree below the turn, for early and late consumers, and of nothing else',
    ),
    proved(
      'After a disconnect a client resumes by cursor, and sees each event once',
      'R2, FW1: a watcher that is cut off anywhere and goes on sees each record once, in order',
      'R2: from every cut point the rest comes exactly once, of a thread and of its tree',
      'FW1, R2: going on while the thread runs misses nothing and repeats nothing',
    ),
    proved(
      'A gap is told, never silent',
      'R2, FW5: a cursor of a tree that was deleted and whose id is used again is told, and everything of the new ' +
        'one follows',
      'R2: a reader that falls behind by more than it allows is told, has what was kept for it, and goes on from there',
      'EV2: after a broken attempt the stream is reset, and the text of the new attempt is whole',
    ),
  ),
  R3: item(
    'Composable stop conditions',
    proved(
      '`stopWhen` composes step count, tool called, tokens, cost and finish reason, per prompt and per message',
      'R3: %s stops the turn when the calls of the reply are answered',
      'R3: hasToolCall stops after a call that was made, and not after one that was refused',
      'R3: conditions of a message are those of its turn alone, beside the prompt’s',
    ),
    proved(
      '`stopWhen` takes custom conditions',
      'R3: a function sees the results of the step, and stops the turn with its words',
      'R3, K3: what it said is recorded, and not asked again after a restart',
    ),
    proved(
      '`maxToolRounds` is a number or a function; 0 gives raw calls',
      'R3: 0 rounds give raw calls: none runs, and the caller has them with their args',
      'R3: a function decides of each round; one that throws or gives no boolean lets nothing run',
    ),
    proved(
      'An optional last answer without tools',
      'R3: after %s the model is asked once more, and its text is the answer',
      'R3, P1: a journal cut before any record stops for the same reasons, and asks for no answer twice',
    ),
    proved(
      'A reply that was cut or paused can be gone on with',
      'R3: a reply that was cut is gone on with: its model reads what it said, and that it was cut',
    ),
  ),
}
