/** K · Hooks. Code of the app at fixed points. */
import { item, proved } from './clause.js'
import type { Section } from './clause.js'

export const hooks: Section = {
  K1: item(
    'Hook points, ordered, that may change or block',
    proved(
      'A thread was created, a subagent was created',
      'K1: add tags, files, values and a message that the model reads first',
      'K1: refuse one, and the caller is told why',
      'K1: change what a child is told, or refuse it; a refused child takes no reference; after_call sees its answer',
    ),
    proved(
      'Before and after a model step: messages may be filtered or added',
      'K1: a message that is added stays; one that is added once is in one request',
      'K1: hides messages from the model and from nobody else, by what it read; each hook sees what those before hid',
      'K1: changes the text and the calls of a reply before anything of it is recorded',
    ),
    proved(
      'Before a tool call: args changed, the call blocked, answered, or approval asked for',
      'K1: sees args that fit the tool, as they are recorded, and may change them',
      'K1: refuses one call, which the model reads, and the turn goes on',
      'K1: answers a call in place of its tool',
      'K1, K2: blocks: nothing of the reply is run, and the turn ends with hook_blocked',
      'K1, A1: asks for an approval by rule; approved with other args it runs with them',
    ),
    proved(
      'After a tool call: the result changed or dropped',
      'K1: changes a result, its text, or drops it; in call order, once each',
      'K1, T3: three parallel calls, one of them stale: asked once for each, in call order, about what counts',
    ),
    proved(
      'A message was created; the run stops',
      'K1: change a message or refuse it; messages keep their order, and a cancel overtakes them',
      'K1: the turn goes on with what the hook says, and ends when it says nothing',
      'K1: at most eight times in one turn, and never past a limit',
    ),
    proved(
      "Hooks run in order, and a prompt's replace its agent's",
      'K1: hooks are asked in order, each with what those before made, until one refuses',
      'K1: the hooks of a prompt replace those of its agent',
      'K1, S9: an agent that takes over brings its own hooks, and the others are asked no more',
    ),
  ),
  K2: item(
    'A throwing hook is logged; a blocking hook ends the step',
    proved(
      'A hook that throws is logged, and the run goes on with the original data',
      'K2: a hook that throws, is late or returns nonsense is reported, and the turn goes on without it',
      'K2: args that do not fit are no args: the call is made with its own',
    ),
    proved(
      'A block ends the step with the reason `hook_blocked`',
      'K1, K2: a block ends the turn with hook_blocked and its reason; no further hook is asked, and the next turn goes on',
      "K2: with onError: 'block' a hook that fails ends the turn",
    ),
  ),
  K3: item(
    'What a hook decided is journalled',
    proved(
      'Recovery does not run a hook again',
      'K3: a journal with hooks at all points, cut before any record, goes on to the same transcript, and nothing that …',
      'K3, P1: hooks of a parent and of its children decide the same, whichever commit is the last',
    ),
    proved(
      'An app without hooks pays nothing: its journals are what they were',
      'K3: without hooks a journal has no word of them, and is byte for byte what it was',
    ),
  ),
}
