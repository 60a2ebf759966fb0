/** B · Beyond. What Skein has that others have not. */
import { item, open, proved } from './clause.js'
import type { Section } from './clause.js'

export const beyond: Section = {
  B1: item(
    'Serialisable parallel tools',
    proved(
      'Parallel speed: calls run beside each other',
      'T3: calls run beside each other; a stale read runs again once, a tool that says nothing waits with its read',
    ),
    proved(
      'Sequential meaning: whatever ends first, the outcome is that of call order',
      'T3, B1: any mix of calls that ends in any order gives what one after the other gives',
      'B1: any bodies on any earlier snapshots, settled in order, give what a sequence gives',
    ),
  ),
  B2: item(
    'A ledger of effects with explicit unknowns',
    proved(
      'Every effect has an intent and a receipt in the journal',
      'EX3: the intent is durable before the body starts, and the receipt follows it',
    ),
    proved(
      'An effect that was cut off is explicitly unknown, and never silently repeated',
      'T10, B2: an effect that may have happened is not run again; the model is told',
      'T10, B2: effects happen once over …',
      'T10: with onUnknown ask a person decides; approved it runs with the same key, rejected it does not, and a ' +
        'restart asks…',
    ),
  ),
  B3: item(
    'Files fork at spawn and merge at join',
    proved(
      "A child may get a copy-on-write view of the parent's files",
      'B3: each sees the parent’s files, none sees another’s; what they did is merged in call order, with a ' +
        'report of conflicts',
      'FT1: the old tree stays, and what was not touched is shared',
    ),
    proved(
      'At the end there is a three-way merge',
      'B3: each sees the parent’s files, none sees another’s; what they did is merged in call order, with a ' +
        'report of conflicts',
      'every path holds what the rule says, and every changed content of either side is somewhere',
    ),
    proved(
      'Conflicts are reported, and nothing is lost',
      'B3: each sees the parent’s files, none sees another’s; what they did is merged in call order, with a ' +
        'report of conflicts',
      'every path holds what the rule says, and every changed content of either side is somewhere',
      'says of each conflict what happened, what stands and where the other is',
    ),
  ),
  B4: item(
    'Fork of a whole swarm at a consistent cut',
    proved(
      'A whole swarm is forked at a consistent cut',
      'B4, P4: a tree forked at any position settles as its source did',
      'B4: the copying of a tree goes on after a crash at any of its commits',
      'B8, B4, P4: a forked tree ends as its source did, and what is undone is undone once, whatever dies',
    ),
  ),
  B5: item(
    'Supervision with restarts, escalation and dead letters',
    proved(
      '`one_for_one`',
      'B5: that fails is called again as another thread, with the same message; its siblings go on, and the call waits',
      'B5, P1: attempts are the same wherever the tree is cut off; none is there twice, none is lost',
    ),
    open('`one_for_all`'),
    open('`rest_for_one`'),
    proved(
      'Restart intensity: so many within a time',
      'B5: past maxRestarts its failure is the answer, and it is a dead letter, which can be tried again or dropped',
      'B5: failures that are longer ago than withinMs do not count',
    ),
    proved(
      'Past it the failure goes up to the parent',
      'B5: past maxRestarts its failure is the answer, and it is a dead letter, which can be tried again or dropped',
    ),
    proved(
      'Dead letters, with requeue',
      'B5: past maxRestarts its failure is the answer, and it is a dead letter, which can be tried again or dropped',
      'C1, B5: lists children that failed for good; each is tried again or dropped',
    ),
  ),
  B6: item(
    'One durable inbox for all human decisions',
    proved(
      'One inbox has the approvals and the missing variables of a tree',
      'A4, S13: an approval three levels down is answered from the inbox of the tree, also after a restart',
      'F2, A4, B6: in a child the root’s inbox has it, and a value that is set at the root lets it go on',
    ),
    proved(
      'It has the questions and manual calls of descendants',
      'A4, B6: questions and manual calls of a descendant are in the inbox of the tree, and are answered there',
    ),
    proved(
      'It is durable',
      'A4, S13: an approval three levels down is answered from the inbox of the tree, also after a restart',
      'S6: the request is kept through a restart; a child that stays can be spoken to afterwards; the next has ' +
        'the next…',
    ),
  ),
  B7: item(
    'Crash-safe tree budgets and shared admission',
    proved(
      'Tree budgets are reserved and crash-safe',
      'L2: a child’s budget is its relation’s, else its agent’s, else a share; it is reserved while the child ' +
        'works, and the…',
      'L2, BG1: add up after every commit, wherever it is cut off and goes on',
      'L2, BG1, BG2: add up for any tree and any budget, and after a cut anywhere; at rest nothing is reserved',
    ),
    proved(
      'Admission to a provider is shared by threads and hosts',
      'L5, B7: a thread that is limited makes all wait for that model; the places are seen, and all go on in order',
      'L5, B7, AY1: a model that is limited on one host is not asked by the other either',
    ),
  ),
  B8: item(
    'A deterministic simulator for users',
    proved(
      'A seeded scheduler with a virtual clock',
      'B8: the same seed gives the same commits, byte for byte, however often: …',
      'B8: a host dies at any commit, before or after it is applied; the clock is virtual',
      'B8: a body that waits for something real is told by name, with its thread',
    ),
    proved(
      'A lossy bus',
      'B8: every kind of fault happens, and the report counts it',
      'B8, S13: a child that is heard twice is found within 200 seeds',
      'B8, A1, A4: every decision is taken once and none is lost, whatever dies',
    ),
    proved(
      'A crash at any commit point',
      'B8: a host dies at any commit, before or after it is applied; the clock is virtual',
      'B8: no payment is made twice or lost, whatever dies',
    ),
    proved(
      'A failing seed is printed and reproduces',
      'B8: a failing seed is printed with what went wrong, and fails in the same way again',
      'B8: an error that nobody handles fails its seed, and no listener of the test runner hears it',
    ),
    proved(
      'It is shipped to users, and finds bugs',
      'B8: 11-simulate finds the refund that is paid twice, and its three lines mend it',
      'B8, T4: a model that is asked before an outcome is durable is found within 200 seeds',
      'B8, T3: calls that are settled out of call order are found within 200 seeds',
    ),
  ),
  B9: item(
    'CPU-bound tools that can be killed',
    proved(
      'A body that computes for ever is ended by cancel and by its time',
      'T14, B9: cancel ends a turn whose tool loops for ever; the thread and the pool go on',
      'T14, B9: a body that loops past its time is timed out; the pool goes on',
    ),
    proved(
      'It holds up neither the host nor other threads',
      'T14, B9: a tool that computes holds up neither the host nor other threads',
      'WP5, LN3: a body that loops holds up none of 100 others, those with a time limit included',
    ),
  ),
  B10: item(
    'Any recorded thread is a test',
    proved(
      'A recorded thread can be exported, without sealed values, and read again; a file that is damaged is refused',
      'B10, C1: export writes a thread into a file, replay asks an app about it: 0 same, 1 diverged',
      'EP1, F3: an export holds no sealed value and no key; its chain holds all the same',
      'B10: is told: a missing, empty, wrong or newer file, a damaged chain, an unknown thread or option',
    ),
    proved(
      'It is replayed on the definitions of today, with recorded replies and outcomes, or against models',
      'B10: is the same on its own definitions, from its store, an export or a file; each thread by itself',
      'B10: is the same with recorded replies, whatever models and bodies would do now',
      'B10: any recorded thread is the same on its own definitions, whatever went wrong while it lived',
      'B10: models of today are asked again with what was recorded; the first other reply is named',
    ),
    proved(
      'The first divergence is named: calls, approvals, children, stops, models, and pinned prompts and tools',
      'B10: the first divergence is named: …',
      'B10: a call that was refused and is made now is named, too',
      'B10: prompts and tool schemas, which no journal has, are compared once they are pinned',
    ),
  ),
}
