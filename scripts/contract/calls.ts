/** T · Tools. T1 to T9: what happens to a call, from the args that a model sent to the result that it reads. */
import { item, proved } from './clause.js'
import type { Section } from './clause.js'

export const calls: Section = {
  T1: item(
    'Args are parsed, validated, repaired once, or refused by field',
    proved(
      'JSON text is parsed, then validated with zod',
      'T1: JSON text and a decoded value are the same',
      'T1: text that is not JSON is refused with the reason, and kept as it was sent',
    ),
    proved(
      'Repair mends an object or a list in a text, a number or a boolean in a text, and a scalar for a list',
      'T1: %s',
    ),
    proved(
      'Repair opens a single `input` or `args` envelope',
      'T1: %s',
      'an envelope with anything beside it is not one',
    ),
    proved(
      'A missing value is never invented',
      'T1: a missing value is never invented',
      'not even where every object has something of that name',
    ),
    proved(
      'What is still wrong is an error result that names each field by its path',
      'T1: each field is named by its path, and the message says what to do',
    ),
    proved(
      'The body never runs with bad args',
      'T1: broken JSON and bad fields never reach the body; the good call beside them runs',
    ),
    proved(
      'A tool that does not exist is an error result that lists the allowed names',
      'T1: an unknown tool is answered with the names of those there are',
    ),
    proved(
      'A tool that the prompt does not name is refused the same way',
      'T1: a tool of the app that the prompt does not name is not allowed',
    ),
  ),
  T2: item(
    'Whatever goes wrong in a tool is a result; the loop goes on',
    proved(
      'A throw, a time-out and an output that does not fit are error results with a code',
      'T2: a throw, a bad output and a reported error; the loop goes on',
      'T2: a body that takes too long is told and its result is dropped',
    ),
    proved(
      'A worker that crashes is an error result with a code',
      'T14: a thread that dies (%s) costs its own call one result, and none of those that shared it',
    ),
    proved('The loop goes on after each', 'T2: a throw, a bad output and a reported error; the loop goes on'),
    proved('A plain return value is a success', 'T2: %s'),
    proved('`{ status, result, error }` is taken at its word', 'T2: success with a result', 'T2: an error told by %s'),
    proved(
      '`content` beside a result reaches the model',
      'T2: content beside a result reaches the model: its texts, and its images where they are taken',
      'content beside a result: the result and its texts are read, its images shown',
    ),
    proved(
      '`attachments` beside a result are files of the answer',
      'S8: a tool of the child gives files with the answer: they are in the parent’s /attachments in call order, ' +
        'whoever was…',
    ),
  ),
  T3: item(
    'Parallel calls, with the outcome of running them in call order',
    proved(
      'Calls of one step run beside each other, on workers',
      'T3: calls run beside each other; a stale read runs again once, a tool that says nothing waits with its read',
      'WP1: 64 calls that wait share two threads',
    ),
    proved(
      'At most `maxParallelTools` run at once',
      'RC2, SL2: at most maxParallelTools bodies run, and results are read in call order whatever finishes first',
    ),
    proved(
      'The outcome is what running them one after another in call order gives: files, values and results',
      'T3, B1: any mix of calls that ends in any order gives what one after the other gives',
      'B1: any bodies on any earlier snapshots, settled in order, give what a sequence gives',
    ),
    proved(
      'Results are stored in call order',
      'RC2, SL2: at most maxParallelTools bodies run, and results are read in call order whatever finishes first',
      'SL2: any order in which the calls of a step land gives one transcript',
    ),
    proved(
      'A call works on a snapshot, and its change-set is committed in call order',
      'T3, B1: any mix of calls that ends in any order gives what one after the other gives',
      'B1: a change-set may be applied at once or one operation after the other',
    ),
    proved(
      'A stale read runs again if its tool is free of side effects, else its reads had waited',
      'T3: calls run beside each other; a stale read runs again once, a tool that says nothing waits with its read',
      'T3: a list that an earlier call of the step has changed since is made again',
    ),
    proved(
      'A call with a side effect is a barrier: it runs alone, in order',
      'OU3: a call with a side effect waits for those before it and holds back those behind it',
    ),
    proved(
      'Effects that commute run beside each other',
      'T10, T3: effects that commute run beside each other, each after its intent',
    ),
    proved(
      'A call that waits for approval holds back only effects behind it',
      'A2, T3: several wait, are answered in any order, and hold back only effects behind them; nothing else runs ' +
        'again',
    ),
    proved(
      'Calls that other threads answer run in parallel',
      'KI2: children work beside each other, answer in call order, and end',
    ),
    proved(
      '`maxParallelTools: 1` is plain sequence',
      'T3: maxParallelTools 1 is plain sequence, and calls that wait for their turn never stand in the way of ' +
        'those they wait…',
      'RC2: maxParallelTools 1 is plain sequence',
    ),
  ),
  T4: item(
    'An outcome is journalled when it lands and before the next model call',
    proved(
      'Each outcome is in the journal before the next model call',
      'T4: the next model call waits until the outcome is durable',
      'T4: also when the next call belongs to the next turn',
    ),
    proved(
      'A landed outcome is journalled at once, while its siblings run',
      'T4: an outcome is written at once, while its siblings run',
    ),
  ),
  T5: item(
    'Cached results of a tool within a run',
    proved(
      'Equal are calls of one tool with equal validated args, whatever the order of keys',
      'T5: equal calls of a run are run once, in one step too, and a hit says so',
      'T5: equal are calls whose bodies would be given equal args: after defaults, transforms and stripping',
      'T5: args that look alike as JSON and are not are not equal',
    ),
    proved('`keyFn` says otherwise what is equal', 'T5: a key of its own, only successes, and gone with the run'),
    proved('`ttlMs` limits the age of an entry', 'T5: an entry that is too old is not used'),
    proved('The cache lives for the run and not longer', 'T5: a key of its own, only successes, and gone with the run'),
    proved('It survives a resume', 'T5, P1: it survives a restart'),
    proved('Only successes are cached', 'T5: a key of its own, only successes, and gone with the run'),
    proved(
      'Identical calls of one step run once',
      'T5: equal calls of a run are run once, in one step too, and a hit says so',
    ),
    proved(
      'A hit says `fromCache` in the history',
      'T5: equal calls of a run are run once, in one step too, and a hit says so',
    ),
    proved('A hit is not an execution', 'T5, T7: a hit is no execution'),
    proved('A hit counts as a call', 'T5, L1: a cached hit is a call like any other, and its body does not run'),
  ),
  T6: item(
    'Retries with backoff, and a circuit breaker',
    proved(
      'A failed body is tried again `maxRetries` times, with a wait that doubles',
      'T6: a failed body is tried again, with a wait that doubles; only the last outcome is told',
      'T6: how often may be left out: twice where it says how, never where it only breaks',
    ),
    proved(
      '`shouldRetry` decides',
      'T6: backoffMs 0 is no wait, shouldRetry decides, and a cancel ends the wait',
      'T6: shouldRetry is given what the body threw: its name, code, status, cause and own fields',
      'T6: a shouldRetry that throws does not hide why the tool failed',
    ),
    proved(
      'The breaker counts consecutive exhausted calls in the run, then short-circuits with a clear message',
      'T6: the breaker opens after that many calls in a row failed for good, and only then',
    ),
    proved('A wait can be aborted', 'T6: backoffMs 0 is no wait, shouldRetry decides, and a cancel ends the wait'),
    proved('`backoffMs: 0` means 0', 'T6: backoffMs 0 is no wait, shouldRetry decides, and a cancel ends the wait'),
    proved(
      'Retries of a provider (429, 5xx, Retry-After) are separate',
      "MP3, T6: a 429 waits as long as the provider says, then succeeds; provider retries are separate from a tool's",
      '500s are tried until the cap and no further; the package adds no retries of its own',
      'T6: provider retries tell who waits for what, and stay outside the reply',
    ),
  ),
  T7: item(
    'A cap on successful executions per run, exact under parallel calls',
    proved(
      'It counts successes',
      'T7: a cap counts successes and is exact under parallel calls; null is no cap, 0 is never',
    ),
    proved(
      'null is unlimited, 0 is never',
      'T7: a cap counts successes and is exact under parallel calls; null is no cap, 0 is never',
    ),
    proved(
      'The next call is skipped with a message',
      'T7: a cap counts successes and is exact under parallel calls; null is no cap, 0 is never',
    ),
    proved(
      'It is exact under parallel calls',
      'T7: a cap counts successes and is exact under parallel calls; null is no cap, 0 is never',
    ),
  ),
  T8: item(
    'Generator tools stream checked preliminaries',
    proved(
      'Each yield is validated by `eventSchema`',
      'T8: an event that does not fit, and a throw, end it; what was told stays told',
    ),
    proved(
      'Each is streamed at once as `tool.preliminary`',
      'T8: events are streamed while the body runs, in order; the result carries them all',
      'T8: events are told while the body runs',
    ),
    proved(
      'The returned value is the result',
      'T8: every event is told in order, all before the result, which carries them',
      'T8: events are streamed while the body runs, in order; the result carries them all',
    ),
    proved(
      'Without a return the last yield is the result, validated as output',
      'T8: without a return the last event is the result',
    ),
    proved(
      '`tool.result` carries all preliminaries',
      'T8: events are streamed while the body runs, in order; the result carries them all',
    ),
  ),
  T9: item(
    'Typed context, local to a tool and shared',
    proved(
      '`state.local` is typed by `contextSchema` and of each tool, `state.shared` by `sharedSchema` and of all',
      'T9: contexts are read live, merged, kept over a restart, and streamed when they count',
      'D8: contexts by their schemas; without one there is none to set',
    ),
    proved(
      'Reads are live, merges are validated',
      'T9: local and shared are read live, merged and checked; a body cannot change them behind our back',
      'T9: setting without a schema, or against it, is an error',
      'T9: contexts are read live, merged, kept over a restart, and streamed when they count',
    ),
    proved(
      'They are persisted',
      'T9: contexts are read live, merged, kept over a restart, and streamed when they count',
      'T9: tools find what the thread was created with, also after a restart; a client gives it as well',
    ),
    proved(
      'They are streamed as context updates, when they count',
      'T9: contexts are read live, merged, kept over a restart, and streamed when they count',
    ),
    proved(
      '`setContext` without a `contextSchema` is an error',
      'T9: setting without a schema, or against it, is an error',
      'T9: without a schema, or against it, setting is an error and changes nothing',
    ),
    proved(
      '`setShared` without a `sharedSchema` is an error',
      'T9: without a schema, or against it, setting is an error and changes nothing',
    ),
  ),
}
