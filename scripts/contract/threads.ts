/** F · Threads, env, files. What a thread has, and what is done to it. */
import { item, open, proved } from './clause.js'
import type { Section } from './clause.js'

export const threads: Section = {
  F1: item(
    'A thread owns its data and shares nothing',
    proved(
      'It has an id, an agent, tags, a root, a parent, a status, and is found by them',
      'F1, R1: a message, two calls and an answer',
      'F1: threads are listed by agent, tag and status',
      'KI2: children work beside each other, answer in call order, and end',
    ),
    proved(
      'It has messages, env, files, a key-value store and a budget',
      'F1: queued messages are listed too',
      'F2: looked up in the thread, its agent, its prompt, the tool and the skein, in this order',
      'F5: links, modes and bytes of any kind are intact over a restart, and in a snapshot',
      'F6: is what tools see, in any process, and is kept over a restart',
      'L1, L2: holds for the life of a thread and all below it; what is spent ends the turn with what there is',
    ),
    proved(
      'It has a todo list',
      'T12, F1: a model finds its todo list as it left it, in a later turn and after a restart',
    ),
    proved(
      "Its files are no other thread's",
      'F5, F1: nothing is shared with another thread, and a client in another process reads and writes the same',
      'F1: without it a child has none of its parent’s files, and leaves none behind',
    ),
    proved(
      "Its variables are no other thread's",
      'F1, F2: a child reads neither its sibling’s variables nor its files, by whatever path, name or reference',
    ),
    proved(
      "Its key-value store, contexts and todo list are no other thread's",
      'F1: its todo list, values and contexts are no other thread’s, be it beside it or below it',
    ),
  ),
  F2: item(
    'Env lookup order, waiting for missing values, inheritance by scope',
    proved(
      "A value is looked up in the thread, its agent, its prompt, the tool's default and the instance, in this order",
      'F2: looked up in the thread, its agent, its prompt, the tool and the skein, in this order',
    ),
    proved(
      'What is required and missing makes the execution wait as `awaiting_variables`, and says which',
      'F2, A4: its call waits and says for what, the others of the step run; with the last value it goes on',
      'F2, D7: the turn waits before its %s’s model is asked, and reads what was said meanwhile',
    ),
    proved(
      'The type defaults to secret',
      'F3: a secret in a thrown error, a result, a log or an event is masked before anyone else sees it',
    ),
    proved(
      "A child has its parent's values but those that its agent graph scopes",
      'F2: a child has its parent’s values except those that its graph scopes; a later set flows to living ' +
        'descendants by the…',
      'EN2: a child has what its parent would find, except what the child scopes',
    ),
    proved(
      'A later `setEnv` flows to living descendants by the same filter',
      'F2: a child has its parent’s values except those that its graph scopes; a later set flows to living ' +
        'descendants by the…',
      'F2: a change flows to children at work, to those that come later, and not through one that scopes it',
      'EN5: whatever changes, in whatever order, a child that is told of it has what one that is made afterwards gets',
    ),
    proved(
      'A scoped value that is set on a thread flows to its own descendants',
      'F2, EN2: what is scoped on a thread flows to those below it that scope it too, unless they have their own; ' +
        'not to it…',
    ),
  ),
  F3: item(
    'Secrets: encrypted, seen only where declared, redacted everywhere',
    proved(
      'At rest they are sealed with AES-256-GCM',
      'is AES-256-GCM, as another implementation reads it',
      'F3: a value that is set by another process is sealed before it is sent, and given to the tool that declares it',
    ),
    proved(
      'A secret is given only to a tool that declares it',
      'F3: a body reads what it declares, and nothing else',
      'F3: a secret in a thrown error, a result, a log or an event is masked before anyone else sees it',
    ),
    proved(
      'It is only inside the worker that runs that tool',
      'F3: a secret is in the memory of the worker that runs the tool which declares it, and of no other',
    ),
    proved(
      'It is redacted by its value in results, logs and events',
      'F3: a secret in a thrown error, a result, a log or an event is masked before anyone else sees it',
      'F3: a secret does not get out (%s)',
      'F3: prints are masked and bounded like any log',
    ),
    proved(
      'It is redacted in the context of every model',
      'F3, S4: no model request, record, event, warning, head or file on disk has one, in any form',
      'F3, VZ2: a model that speaks a secret is masked, in the reply, its calls and the stream',
      'F3: what a body of a child says, does and names shows no model its secret, neither its own nor its parent’s',
    ),
    proved(
      'It is redacted in traces',
      'O1: a secret that bodies return and throw, and models say, is in no byte of traces, metrics, logs and answers',
    ),
    proved(
      'It is redacted over HTTP',
      'S6, F3, H1: a request is read and provided once, by one of two at once; no answer has the value, in any form',
    ),
  ),
  F4: item(
    'Messages: queue, inject, silent, edit, page, steer',
    proved(
      'A queued message starts a turn or joins one',
      'F4: a message to a resting thread starts a turn that begins with it',
      'T13: invokeTool runs a tool now and stores nothing, queueTool after the calls of the step; both obey uses',
    ),
    proved(
      'An injected message is stored and starts nothing',
      'F4: an injected message starts nothing and is in the next request',
      'F4: a stored message starts nothing, and to a busy thread it is added between two steps',
    ),
    proved(
      'A silent message is read by the model and hidden in lists',
      'F4: a silent message is seen by the model and hidden in lists, unless they ask',
    ),
    proved(
      'A message can be changed and removed',
      'F4: what was changed reads otherwise and what was removed is gone: to the model, in lists, after a ' +
        'restart, in a…',
      'F4, ED1: of a reply that calls and of a result only the words go, so that each call keeps its result',
    ),
    proved('Lists are paged', 'F4: pages go on after a message, and an unknown one is an error'),
    proved(
      'A message to a busy thread is read at the next step boundary',
      'F4: a steering message is read at the next step and shares the run',
      'F4, FO3: a steering message waits for the results of the step and is read at the next',
    ),
    proved(
      'One that asks for a turn of its own waits for it',
      'F4, R1: turns of their own wait their time, and each run has its own answer',
      'F4: a message that asks for a turn of its own waits for it, each in its order',
    ),
  ),
  F5: item(
    'A file volume per thread, with content-addressed blobs',
    proved(
      "A thread's files are a memfs volume for whoever wants one",
      'has all of the directory, under the same paths',
      'every kind of change comes back',
    ),
    proved(
      'Read, write, stat, readdir, mkdir, rm, move and copy do what they do on a disk',
      'F5: any operations give what Node gives on a disk',
      'a directory is merged into another, with modes and links',
      'a move takes all of it along',
    ),
    proved(
      'Streams go in and out',
      'F5: a file larger than one should hold is streamed in and out',
      'a stream comes whole, small or large, and may be made of a file that is read',
    ),
    proved('There are grep and find', 'grep %s', 'find %s'),
    proved(
      'Usage is counted, a quota is kept',
      'F5: links, modes and bytes of any kind are intact over a restart, and in a snapshot',
      'F5: the quota is told at once, and decided in call order when calls run beside each other',
      'F5: the quota holds for changes from outside, and for what a thread begins with',
    ),
    proved(
      'What comes with a message is in `/attachments`',
      'S8, R1: brings files along: paths that the thread has, and new ones by name, in the order given',
    ),
    proved(
      'Contents are blobs that are named by their hash, the same bytes once',
      'J8: a blob of %i bytes is named by its sha256 and comes back as it was, put once or twice, and after a restart',
      'J8: the same %i bytes put many times at once are one blob',
    ),
    proved('A fork or a copy shares them', 'FT1: the old tree stays, and what was not touched is shared'),
  ),
  F6: item(
    'Key-value store and scheduled effects',
    proved(
      'A thread has a key-value store',
      'F6: is what tools see, in any process, and is kept over a restart',
      'F6: lists its entries in order of their keys, with its own changes, by their beginning',
    ),
    proved(
      '`schedule(name, args, { delayMs })` makes a call at its time',
      'F6: the call is made at its time, once, wakes an idle thread, and the model reads it',
    ),
    proved(
      'Schedules are listed, and can be taken back',
      'F6: several come in order of their time, those of one instant in order of asking',
      'F6: taken back in time it never happens; later it is too late',
    ),
    proved(
      'They are durable across restarts',
      'F6, P1: it stands through restarts, also when its time came while nobody was there',
    ),
    proved(
      'Each runs once',
      'F6: the call is made at its time, once, wakes an idle thread, and the model reads it',
      'F6, P1: it stands through restarts, also when its time came while nobody was there',
    ),
  ),
  F7: item(
    'Terminate ends the thread and its children; cancel ends the turn',
    proved('`terminate` aborts what runs', 'F7: aborts what runs, ends the run and all later work, and says why'),
    proved(
      'It refuses later work',
      'F7: aborts what runs, ends the run and all later work, and says why',
      'F7: a terminated thread refuses everything, and says what it is',
      'F7: a terminated thread refuses later work',
    ),
    proved(
      'It tells the parent',
      'F7: why a child was cancelled or terminated is in its parent’s result',
      'F7: a child that waits for nothing and is terminated is known to its parent as over; one of a terminated ' +
        'parent says why',
    ),
    proved(
      'It cascades to children',
      'F7: terminate takes the whole tree with it',
      'F7: the children of a terminated thread are told why',
    ),
    proved(
      '`cancel` ends the turn only',
      'F7: cancel ends a model that is speaking, and only this turn',
      'F7: the signal reaches the body, the open call is answered, and a late result is dropped',
    ),
    proved(
      'Both carry a reason',
      'F7: why a thread was paused, cancelled or terminated is in its head, its events and what its parent reads',
      'F7: why a child was cancelled or terminated is in its parent’s result',
    ),
  ),
  F8: item(
    'Idempotent creation, deletion, backup, pause, settled, quotas',
    proved(
      '`threads.create({ id })` is idempotent',
      'F8: the same id is the same thread, twenty times at once and after a restart',
      'F8: with another agent it is refused, also when both come at once',
    ),
    proved(
      '`threads.delete` removes a finished tree',
      'F8: a finished tree is gone with its messages and files; others stay; its id can be used again',
      'F8: what is at work is refused, unless it is terminated first; a child is refused with the name of its root',
    ),
    proved(
      'Its blobs and bytes go with it',
      'J10: blobs that only the removed tree named are collected, all others stay',
      'F8: no message and no key of a deleted tree is in any byte of the folder',
    ),
    proved(
      'Retention rules remove finished trees',
      'F8, JT2: finished trees go after their time, idle ones by their own rule, and what is awaited or scheduled ' +
        'stays',
      'F8: without rules nothing is ever deleted, and no clock runs',
    ),
    proved(
      '`backup(path)` copies the embedded store while it runs',
      'F8, BK1, BK2: a copy that is made under load opens, every thread in it folds, and its files are there; it ' +
        'goes on by…',
    ),
    proved(
      'A thread can be paused and resumed',
      'F8: nothing new starts while paused, what runs lands, and resume goes on',
      'F8: calls of a reply that came while paused wait, and survive a restart',
    ),
    proved(
      'A tree can be paused and resumed',
      'F8, LF1: starts nothing anywhere, also in children that are called meanwhile; resume lets all of it go on',
      'F8, P1: it stays paused over a restart, and a resume of the root reaches all below',
    ),
    proved(
      '`settled({ tree: true })` waits until a tree rests',
      'F8: settled({ tree }) waits for all below, however late it starts, and not for people',
      'F8: a hundred trees of many short children are never taken for settled before they are',
    ),
    proved(
      'Quotas per tag limit trees that live and work',
      'F8: so many trees of a tag may live; whoever ends or deletes one makes room, also after a restart',
      'F8: so many may work at once; what was refused changes nothing, and what is under way goes on',
    ),
    open('Quotas hold where several hosts serve a store', 'they are refused there, with what to do'),
  ),
}
