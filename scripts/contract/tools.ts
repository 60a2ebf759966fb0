/** T · Tools. T10 to T14: effects on the world, the tools that are built in, and how a body is ended. */
import { item, open, proved } from './clause.js'
import type { Section } from './clause.js'

export const tools: Section = {
  T10: item(
    'Side effects: intent before, receipt after, a stable key, unknown outcomes',
    proved('`sideEffect` reads as false when not given, `idempotent` as its opposite', 'T10: with its defaults'),
    proved(
      'Among the calls of a step, only those of a tool that says `sideEffect: false` are run twice',
      'T3, B1: any mix of calls that ends in any order gives what one after the other gives',
    ),
    proved(
      'The intent is journalled before the body runs, the receipt after',
      'EX3: the intent is durable before the body starts, and the receipt follows it',
    ),
    proved(
      'The key is stable over retries and resume',
      'T10: the key is the same for every try of a call, and another for an equal call of the same step',
      'P1: a call that was running runs again with the same key; what had landed does not',
      'EX3: an idempotent one runs again with the same key, and so does one that says retry',
    ),
    proved(
      "The key is another for each call of a step, and not the provider's id of the call",
      'T10: the key is the same for every try of a call, and another for an equal call of the same step',
      'AT3, T10: two calls with one id are two calls, and each gets its own result',
    ),
    proved(
      'The key is derived from the tool and the canonical args too',
      'T10: the key is derived from the tool and its args too, whatever the order of their fields',
    ),
    proved(
      'After a crash an idempotent effect runs again with the same key',
      'EX3: an idempotent one runs again with the same key, and so does one that says retry',
    ),
    proved(
      'After a crash a `probe` asks the world first',
      'EX3: a probe asks the world first',
      'T10: a probe says what happened, or null',
    ),
    proved(
      'Else it is not run again, and the model is told that it may have happened',
      'T10, B2: an effect that may have happened is not run again; the model is told',
      'T10, B2: effects happen once over …',
      'B8, T10: an effect that cannot be repeated is told, found out, asked about or repeated, whatever dies',
    ),
    proved(
      '`onUnknown` may have a person asked, or the body run again',
      'T10: with onUnknown ask a person decides; approved it runs with the same key, rejected it does not, and a ' +
        'restart asks…',
      'EX3: an idempotent one runs again with the same key, and so does one that says retry',
    ),
    proved(
      'A non-idempotent effect whose body ignores the key gets a warning at load',
      'T10: a side effect whose body ignores the key',
      'T10: ignored by a body with %s',
      'T10: not ignored by one that %s',
    ),
    proved('`toolMetadata` reads the metadata, null for others', 'T10: with its defaults', 'T10: null for %o'),
  ),
  T11: item(
    'Built-in file and shell tools, on thread files or a real directory',
    proved(
      '`read`, `write`, `edit`, `grep`, `ls`, `glob` and `bash` work on the files of the thread',
      'T11: a file, some lines of it, nothing of an empty one',
      'T11: sizes',
      'T11: a patch is applied, or told why not',
      'T11: grep gives path:line:text',
      'T11: ls and glob',
      'T11: pipes through sh -lc and bash -c, with arguments',
    ),
    proved(
      'A path that is none or climbs out is `TOOL_PATH_INVALID` or `TOOL_PATH_ESCAPE`',
      'T11: what cannot be read is told as such',
      'every tool refuses paths that climb out or are none',
    ),
    proved(
      'What is too large is `TOOL_FILE_TOO_LARGE`, `TOOL_CONTENT_TOO_LARGE` or `TOOL_PATCH_TOO_LARGE`',
      'T11: a file past the limit in parts',
      'T11: sizes',
    ),
    proved(
      'A patch that does not apply is `TOOL_PATCH_FAILED`, a bad pattern `TOOL_GREP_FAILED`',
      'T11: a patch is applied, or told why not',
      'T11: %s',
      'T11: grep gives path:line:text',
    ),
    proved(
      'A command that fails is `TOOL_COMMAND_FAILED`, one that is late `PROCESS_TIMEOUT`',
      'T11: VB1: that fails is a result, and what it changed is kept',
      'T11, VB2: too late is PROCESS_TIMEOUT, and nothing is kept',
    ),
    proved('Network and git remotes are `TOOL_NETWORK_DISABLED` and `TOOL_GIT_REMOTE_DISABLED`', 'T11: %s for %s %s'),
    proved('Output is cut at 200 KB', 'output is cut at the limit', 'T11: grep stops at 10,000 lines and at the limit'),
    proved(
      'A command has 8,192 characters, 128 args of 8,192 and an hour at most',
      'T11: cmd has 8,192 characters at most, args 128 of 8,192, time an hour',
      'T11: cmd has 8,192 characters at most, args 128 of 8,192',
    ),
    proved(
      'A command that says nothing of time has 60 s',
      'T11: a command that says nothing of time has 60 s',
      'T11: the pool ends a command that says nothing of time, and does not end by itself, after 60 s',
    ),
    proved(
      '`bash` takes `{ cmd, args, opts: { cwd } }`; pipes go through `sh -lc`',
      'T11: is not parsed, nor are its args',
      'T11: pipes through sh -lc and bash -c, with arguments',
      'T11: runs where it is told',
    ),
    proved(
      'It is a virtual shell: the usual text tools, no host, no network',
      'T11: nothing of the host, no network, no other interpreters',
      'the usual tools are there',
    ),
    proved(
      '`hostTools` gives the same five on a real directory',
      'T11: host tools say what they do to the world',
      'T11: gives a file by a relative or absolute path',
      'T11: makes the directories above, replaces at once and keeps the mode',
      'T11: applies a patch or says why not',
      'T11: gives path:line:text in order, nothing when there is nothing',
      'T11: runs without a shell: args are what they are',
    ),
    proved('Host commands are real processes without a shell', 'T11: runs without a shell: args are what they are'),
    proved(
      'A time-out kills all that a host command started',
      'T11, HS1: a time-out kills all it started, also who left the group',
    ),
    proved(
      'Symlinks that lead outside are refused',
      '%s is refused by every tool',
      'a directory that became a link after the path was checked is noticed',
    ),
    proved(
      'The network policy is that of the seed',
      'T11: %s for %s %s',
      'T11: local git, and words that only look alike, are allowed',
      'T11: with allowNetwork nothing is refused',
    ),
  ),
  T12: item(
    'Runtime tools: todo list, archived responses, final response, questions',
    proved(
      '`manage_todo_list` writes, updates by id and reads a list',
      'T12: write makes a list, read gives it',
      'T12: update changes items by id and leaves the rest',
      'T12: the tool keeps the list with the thread, and sets it only when it changed',
    ),
    proved(
      'The thread keeps that list over turns and restarts',
      'T12, F1: a model finds its todo list as it left it, in a later turn and after a restart',
    ),
    proved(
      'It takes `expectedVersion`, and at most one item is in progress',
      '%s is refused, with the version as it is',
      'whatever is asked, at most one is in progress and the version counts the changes',
    ),
    proved(
      '`get_tool_response` gives results that were cut or archived, and refuses other ids',
      'T12: a long result is cut, and the whole can be asked for; only then',
      'L3, T12: a marker names a call whose result get_tool_response gives back, also past a summary and after a restart',
    ),
    proved(
      '`response` is there only with an output schema',
      'T12: response gives the output in the asked form, tells what is wrong field by field, and ends the turn',
      'T12: without an output schema there is no response tool',
    ),
    proved(
      '`response` is not there where the model has structured output of its own',
      'T12: %s gives the output by its own mode, corrects it, and reads it again as it said it',
      'T12: the form is part of the request, the text is the output, and its type is the schema’s',
    ),
    proved(
      'An output that does not fit is told field by field',
      'T12: response gives the output in the asked form, tells what is wrong field by field, and ends the turn',
    ),
    proved(
      '`response` ends the turn',
      'T12: response gives the output in the asked form, tells what is wrong field by field, and ends the turn',
    ),
    proved(
      '`ask_user_question` takes 1 to 4 questions with options, multi-select and free text',
      'T12: takes 1 to 4 questions with 2 to 4 options',
      'T12: answers in any of their forms',
      '%s does not fit',
      'T12: a question is answered in its form; what does not fit is refused, and the person can correct it',
    ),
  ),
  T13: item(
    'A tool may invoke or queue another that it declared',
    proved(
      '`invokeTool` runs a tool now, and stores nothing of it',
      'T13: invokeTool runs a tool now and stores nothing, queueTool after the calls of the step; both obey uses',
      'T13: a tool that is invoked runs within the call',
    ),
    open('`invokeTool` runs any tool', 'refused: one that asks a person, needs approval, or is at home on the host'),
    proved(
      '`queueTool` appends a call to the running sequence',
      'T13: invokeTool runs a tool now and stores nothing, queueTool after the calls of the step; both obey uses',
      'T13: what is queued comes back with the result',
    ),
    proved(
      'A call from outside wakes an idle thread',
      'T13: callTool makes a call that no model asked for, and wakes an idle thread',
    ),
    proved(
      'Both obey `uses`',
      'T13: invokeTool runs a tool now and stores nothing, queueTool after the calls of the step; both obey uses',
      'T13: invoking %s (%j) is an error',
      'T13: what is queued comes back with the result',
    ),
  ),
  T14: item(
    'Cancellation reaches the body; a deaf or dying worker costs one result',
    proved(
      'An abort reaches the body as `state.signal`',
      'T14: an abort reaches the body as its signal, and its reason is the outcome',
      'F7: the signal reaches the body, the open call is answered, and a late result is dropped',
    ),
    proved(
      'A body that does not stop within the grace loses its worker',
      'T14, WP2: a body that does not hear the abort (%s) loses its thread; what shared it begins again',
      'T14, B9: cancel ends a turn whose tool loops for ever; the thread and the pool go on',
    ),
    proved('The grace is 1 s by default', 'T14: the grace is 1 s by default'),
    proved(
      'What shared the worker goes on elsewhere',
      'T14, WP2: a body that does not hear the abort (%s) loses its thread; what shared it begins again',
    ),
    proved(
      'A worker that runs out of memory, exits or loops for ever costs one error result, and the pool recovers',
      'T14: a thread that dies (%s) costs its own call one result, and none of those that shared it',
      'T14, B9: a body that loops past its time is timed out; the pool goes on',
      'T14: a heap that is used up (%s) costs one result, and not the host',
    ),
  ),
}
