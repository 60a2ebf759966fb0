/** K · Hooks. Code of the app at fixed points. There is none yet. */
import { item, open } from './clause.js'
import type { Section } from './clause.js'

export const hooks: Section = {
  K1: item(
    'Hook points, ordered, that may change or block',
    open('A thread was created, a subagent was created'),
    open('Before and after a model step: messages may be filtered or added'),
    open('Before a tool call: args changed, the call blocked, answered, or approval asked for'),
    open('After a tool call: the result changed or dropped'),
    open('A message was created; the run stops'),
    open("Hooks run in order, and a prompt's replace its agent's"),
  ),
  K2: item(
    'A throwing hook is logged; a blocking hook ends the step',
    open('A hook that throws is logged, and the run goes on with the original data'),
    open('A block ends the step with the reason `hook_blocked`'),
  ),
  K3: item('What a hook decided is journalled', open('Recovery does not run a hook again')),
}
