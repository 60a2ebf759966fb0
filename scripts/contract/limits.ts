/** L · Limits. What a turn and a tree may spend. */
import { item, open, proved } from './clause.js'
import type { Section } from './clause.js'

export const limits: Section = {
  L1: item(
    'Limits per thread and tree end cleanly with a reason',
    proved(
      '`maxToolCalls`',
      'L1: calls past maxToolCalls are answered and not run; asking for more with none left ends the turn',
      'L1: 0 means zero: no model call, no call',
    ),
    proved(
      '`maxParallelTools`',
      'RC2, SL2: at most maxParallelTools bodies run, and results are read in call order whatever finishes first',
    ),
    proved(
      '`maxSteps`',
      'L1: maxCostUsd and maxSteps do the same; a last reply is complete whatever it cost',
      'L1: maxSteps stops after the calls of the last step, with what was said',
    ),
    proved(
      '`maxTokens`',
      'L1: maxTokens stops before the next model call, with what there is; another turn has its own',
    ),
    proved('`maxCostUsd`', 'L1: maxCostUsd and maxSteps do the same; a last reply is complete whatever it cost'),
    proved(
      '`maxWallClockMs`',
      'L1: a turn that takes too long ends with a reason and what there is of it',
      'L1, P1: the deadline still stands after a restart',
    ),
    proved(
      'Tokens, cost, steps and calls are limited for a whole tree, by its budget',
      'L1, L2: holds for the life of a thread and all below it; what is spent ends the turn with what there is',
      'L2: 0 means zero; calls are budgeted too, and a budget of one kind limits no other',
    ),
    proved(
      '`maxWallClockMs` holds for all that a turn waits for, at every depth',
      'L1: it ends all that the turn waits for, however far below and however late that began',
    ),
    open(
      '`maxWallClockMs` for children that nobody waits for',
      'each of their turns has its own: they outlive the turn that began them, by design',
    ),
    open(
      '`maxParallelTools` for a whole tree',
      'it is of a thread; threads of a tree may be on several hosts, and on each the pool bounds what runs',
    ),
    proved(
      'A breach is a clean stop with a reason code and the partial result',
      'L1: maxTokens stops before the next model call, with what there is; another turn has its own',
      'L1: calls past maxToolCalls are answered and not run; asking for more with none left ends the turn',
      'L1: a turn that takes too long ends with a reason and what there is of it',
    ),
  ),
  L2: item(
    'Tree budgets are reserved, returned and crash-safe',
    proved(
      "A child's budget is reserved from its parent before it starts",
      'L2: a child’s budget is its relation’s, else its agent’s, else a share; it is reserved while the child ' +
        'works, and the…',
    ),
    proved(
      'The rest is returned after, whatever the end',
      'L2: a child’s budget is its relation’s, else its agent’s, else a share; it is reserved while the child ' +
        'works, and the…',
      'L2, BG2: every end returns: a failure, a cancel, an end from outside, and one that stays returns after ' +
        'each answer',
    ),
    proved('0 means zero', 'L2: 0 means zero; calls are budgeted too, and a budget of one kind limits no other'),
    proved(
      'The books add up after a crash anywhere',
      'L2, BG1: add up after every commit, wherever it is cut off and goes on',
      'L2, BG1, GT2: add up after every commit, also where more is granted on the way, wherever it is cut off',
      'L2, BG1, BG2: add up for any tree and any budget, and after a cut anywhere; at rest nothing is reserved',
    ),
  ),
  L3: item(
    'Context is summarised and archived, and can be recovered',
    proved(
      'Past a number of tokens the context is summarised',
      'L3: is reduced at the trigger to the target; usage is reported: %s',
      'L3: the summary begins with the request, word for word, and with what was said to steer',
      'L3: a summary that %s costs nothing but the room: what was archived counts, and it is not tried at every step',
      'L3: `context: false` and a model without `contextTokens` leave everything as it was',
    ),
    proved(
      'Old tool outputs are archived behind markers, and `get_tool_response` recovers them',
      'L3: markers alone, where they free enough; `retention: keep` is never one',
      'L3, T12: a marker names a call whose result get_tool_response gives back, also past a summary and after a restart',
    ),
    proved(
      'The newest batch is never archived',
      'L3: the newest batch is never archived or summarised, whatever the sizes; calls keep their results',
    ),
    proved(
      "Between reductions requests only grow, and a summary is asked for with the thread's own request",
      'L3: requests are append-only between reductions, and a summary is the request and one message more',
      'L3: with @ai-sdk/anthropic a summary request has the one before it as its prefix, byte by byte, and is marked to be cached',
    ),
    proved(
      'A crash anywhere leads to the same transcript with the same requests',
      'L3, P1: a journal cut before any record goes on to the same transcript with the same requests',
      'B8, L3: a reader whose context is short reads the same, archives the same and pays the same, whatever dies',
    ),
    proved(
      'Nothing leaks: sides, prompts that leave out the past, secrets',
      'L3, S11: each side has a view of its own, and nothing of the other one is in its summaries',
      'L3, D5: a summary of an earlier turn is read by a prompt that %s',
      'L3, S6: an agent that takes over and leaves out the past begins a view of its own',
      'L3, F3: a secret that the model says again is masked in the summary',
    ),
    proved(
      'Summaries are paid for',
      'L3, O2, L1: a summary is paid for: usage, limits and budgets have it, and it is no step',
    ),
    proved(
      'What a thread with a summary costs does not grow with its history',
      'L3: wakes from a snapshot and its tail, reads no history, and its messages are whole',
    ),
    proved(
      'One result is cut at a cap, the raw is kept, and `get_tool_response` gives it',
      'T12: a long result is cut, and the whole can be asked for; only then',
    ),
  ),
  L4: item(
    'Repetition is noticed and stopped',
    proved(
      'Eight identical failing calls stop the run with a visible reason',
      'L4: eight equal calls that failed stop the turn, and the reason names the call',
      'L4: a loop of two calls is caught, also where both are made in one step',
      'L4, P1: what was counted survives a restart',
    ),
    proved(
      'Identical calls stop the run with a visible reason',
      'L4: sixteen equal calls stop the turn whatever came of them; other args are other calls',
      'L4: a tool that polls is not counted; numbers are options, and false is never',
    ),
  ),
  L5: item(
    'Rate limits of a provider are shared by all threads and hosts',
    proved(
      '429 and Retry-After pause the queue for that model, for all threads',
      'L5, B7: a thread that is limited makes all wait for that model; the places are seen, and all go on in order',
      'of 1,000 threads 50 are let in; the rest wait as long as was asked, and come back in order, one at first',
    ),
    proved('Other hosts wait too', 'L5, B7, AY1: a model that is limited on one host is not asked by the other either'),
    proved(
      'Waits have jitter',
      'another host was limited: this one waits too, a time of its own longer, and tells nobody',
      'full jitter reaches from no wait to the whole',
    ),
    proved(
      'The position in the queue is visible',
      'L5, B7: a thread that is limited makes all wait for that model; the places are seen, and all go on in order',
      'L5: ps and tree say that a thread waits for a model, its place, and until when',
    ),
  ),
}
