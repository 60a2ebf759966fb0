/** S · Subagents. How agents call agents. */
import { item, open, proved } from './clause.js'
import type { Section } from './clause.js'

export const subagents: Section = {
  S1: item(
    'Subagent tools, blocking or not, resumable or not',
    proved(
      "By default a call waits, and its result is the child's; the child ends",
      'KI2: children work beside each other, answer in call order, and end',
    ),
    proved(
      'Not blocking, the call is answered with "started", and the result comes later',
      'a child that nobody waits for reports as a silent message, which wakes the parent',
    ),
    proved(
      'Resumable, the child stays and has a reference',
      'created by name, spoken to by reference, listed; a cap names the live ones',
    ),
    proved(
      'A `dual_ai` agent is a subagent',
      'S1, S11: its result is the message of sessionStop, and sessionFail is CHILD_FAILED with its message',
    ),
    proved(
      'An `ai_human` agent with a config is a subagent, whose answer ends its session',
      'D3: a prompt tool and an agent tool are known by what their name means',
      'KI2: children work beside each other, answer in call order, and end',
    ),
    proved(
      'Named as a plain string it is a handoff',
      'D3: a prompt tool and an agent tool are known by what their name means',
      'S9: goes on with the same history, its own prompt, model and tools, in this turn and those after',
    ),
    proved(
      "The config says which args are its message, its files and its name; the agent's `requiredSchema` is what " +
        'it takes',
      'S1: the requiredSchema of the agent’s prompt is what its tool takes; the mapped args are message, files ' +
        'and name',
      'S1: a property that the agent does not take is told when the app is loaded',
    ),
  ),
  S2: item(
    'Create, message and list subagents by reference',
    proved(
      'Each message is a turn of its own, in order, and gets the answer to itself',
      'S2: two messages to one child in one step are turns of their own: each call has the answer to itself',
      'S2, S7: a message to a child that is busy, and that nobody waits for, does not swallow the answer to the ' +
        'one before',
    ),
    proved(
      'One that says `steer` joins what the child is doing',
      'S2: a message that steers joins what the child is doing, and both calls read the one answer',
    ),
    proved(
      '`subagent_create` takes agent, a non-empty name, message, attachments and arguments, and gives a reference',
      'created by name, spoken to by reference, listed; a cap names the live ones',
      'AH1, AH2: files and directories go to the child’s /attachments; a name that is taken gets a number, a ' +
        'missing one is…',
      'S2: subagent_create takes what the agent asks for as arguments; the message is one of them, or stands ' +
        'before them',
    ),
    proved(
      'The name is kept as the tag `name:<value>`',
      'created by name, spoken to by reference, listed; a cap names the live ones',
    ),
    proved(
      '`subagent_message` takes reference, message and attachments',
      'created by name, spoken to by reference, listed; a cap names the live ones',
      'AH1, AH2: files and directories go to the child’s /attachments; a name that is taken gets a number, a ' +
        'missing one is…',
    ),
    proved(
      '`subagent_list` lists them',
      'created by name, spoken to by reference, listed; a cap names the live ones',
      'S2: subagent_list is answered at its turn: after the calls before it',
    ),
    proved(
      'The three are there only where an enabled resumable relationship is',
      'S5: without the flag there is no such agent for the model, neither offered nor called; with it there is',
    ),
    proved(
      '`agent` is an enum of what is available now',
      'S5: the flag may come from the agent or the skein, and one of several agents may be off',
    ),
  ),
  S3: item(
    'Which side hears the parent; caps on instances',
    proved(
      "`receives_messages: 'side_a'` reads the parent as a user, `side_b` as an assistant",
      'S2: a message that steers joins what the child is doing, and both calls read the one answer',
      'S3: receives_messages side_b: what the parent says are words of side A, and side B answers them',
      'S3, S6: the side that a relationship speaks to is the one that reads, also of a child that had to wait',
    ),
    proved(
      '`maxInstances` counts live children; at the cap an error lists their references',
      'created by name, spoken to by reference, listed; a cap names the live ones',
      'S3: blocking with one instance goes on with the one that lives, also one of the same reply; a further cap ' +
        'lists those…',
    ),
    proved(
      'Blocking with one instance continues the live one',
      'S3: blocking with one instance goes on with the one that lives, also one of the same reply; a further cap ' +
        'lists those…',
    ),
  ),
  S4: item(
    'Immediate subagents and scoped env that no model sees',
    proved(
      '`immediate: true` starts a child before the first model step, once',
      'S4: before the first model step, once, with what began the turn',
    ),
    proved(
      'In the object form `nameEnv` and `descriptionEnv` are the only values that a model sees',
      'S4: one for each name; what is scoped is in its child, and in no request of any model',
    ),
    proved(
      '`scopedEnv` values are copied to the child and are in no model request',
      'S4: one for each name; what is scoped is in its child, and in no request of any model',
      'S4: what is scoped is kept from models also where it is declared as text, and is never shown by a prompt',
      'F3, S4: no model request, record, event, warning, head or file on disk has one, in any form',
    ),
    proved(
      '`NAME`, `NAME__2`, `NAME__3` start one child each',
      'S4: one for each name; what is scoped is in its child, and in no request of any model',
      'EN4: one per number that any of the names has, by number',
    ),
  ),
  S5: item(
    'Optional relationships behind a flag',
    proved(
      'A flag is on for true, 1 and yes, trimmed and in any case',
      'a flag is on for true, 1 and yes, trimmed and in any case',
      'S5: without the flag there is no such agent for the model, neither offered nor called; with it there is',
    ),
    proved(
      'Otherwise the relationship does not exist for the model',
      'S5: without the flag there is no such agent for the model, neither offered nor called; with it there is',
    ),
  ),
  S6: item(
    'Missing scoped variables become a request that boots the child once',
    proved(
      'The result is `subagent_env_required` with the request, its endpoint, required and missing names; nothing ' +
        'is spawned',
      'S6, A4: the call says what is missing, nothing is spawned; given the values, the child begins once and reports',
    ),
    proved(
      'The request can be read, and survives a restart',
      'S6, A4: the call says what is missing, nothing is spawned; given the values, the child begins once and reports',
      'S6: the request is kept through a restart; a child that stays can be spoken to afterwards; the next has ' +
        'the next…',
    ),
    proved(
      'Giving the values boots the child exactly once; a second time, and two at once, are refused',
      'S6, A4: the call says what is missing, nothing is spawned; given the values, the child begins once and reports',
    ),
    proved(
      'Incomplete values are refused, and nothing is stored',
      'S6, A4: the call says what is missing, nothing is spawned; given the values, the child begins once and reports',
    ),
    proved(
      '`GET` and `POST /threads/{parent}/variables/{request_id}` do the same, with 400, 404 and 409',
      'S6, F3, H1: a request is read and provided once, by one of two at once; no answer has the value, in any form',
    ),
  ),
  S7: item(
    'Implicit and explicit communication with the parent',
    proved(
      'Implicit: completion comes to the parent as a silent message with the reference',
      'a child that nobody waits for reports as a silent message, which wakes the parent',
      'S7: every turn of a child that stays is told to its parent, with what began it: a message, a report, a ' +
        'schedule, a call',
    ),
    proved('Implicit: failure comes the same way', 'S7: a turn that fails is told too'),
    proved(
      'Explicit: only `notifyParent` reaches the parent',
      'S7: explicit: only notifyParent reaches the parent, in call order, when the call counts; what the child ' +
        'answers does not',
      'S7: a child with explicit communication tells nothing of such turns',
    ),
    proved(
      "`setStatus` updates the parent's registry",
      'S7: setStatus is what subagent_list shows, and the child’s own entry in the list of threads',
    ),
    proved(
      'The `sessionStatus` tool does so too',
      'S7: sessionStatus tells the parent how far it is, when that call succeeded',
    ),
  ),
  S8: item(
    'Attachments are copied to the receiver, both ways',
    proved(
      "Files named in a message are in the receiver's `/attachments`; a name that is taken gets a suffix",
      'AH1, AH2: files and directories go to the child’s /attachments; a name that is taken gets a number, a ' +
        'missing one is…',
      'S8, R1: brings files along: paths that the thread has, and new ones by name, in the order given',
    ),
    proved(
      'Files of a result come back the same way',
      'S8: a tool of the child gives files with the answer: they are in the parent’s /attachments in call order, ' +
        'whoever was…',
      'S8: files that sessionStop names go to the parent with its message',
    ),
    proved(
      'So they do across processes',
      'N1, N2, N3, P1: hosts that are killed and stopped and a server that is killed lose nothing of a swarm and ' +
        'repeat…',
    ),
    proved(
      'A missing source is a clear error before anything is sent',
      'AH1, AH2: files and directories go to the child’s /attachments; a name that is taken gets a number, a ' +
        'missing one is…',
      'S8: with a path that is not there is refused, and nothing is sent',
    ),
    proved(
      'A returned path is one that the receiver can read',
      'S8: an output names its files: the parent reads paths of its own; one that is not there is told to the ' +
        'child, and…',
    ),
  ),
  S9: item(
    'Handoff to another agent in the same thread',
    proved(
      'An `ai_human` agent named as a plain string takes the thread over after the current calls',
      'S9: after the calls of the step, also when the turn is cancelled before',
    ),
    proved(
      'The history is the same, and it is side A',
      'S9: goes on with the same history, its own prompt, model and tools, in this turn and those after',
    ),
    proved(
      'One result says "Handoff complete"',
      'S9: goes on with the same history, its own prompt, model and tools, in this turn and those after',
      'S9: the first of several takes over, the others are told so; args that do not fit hand nothing over',
    ),
  ),
  S10: item(
    'Prompt tools: one request, apart from the context of the parent',
    proved(
      'One request is made; its tools run, and there is no loop',
      'S10: its tools run, and there is no loop; the text is the result unless more is asked for',
      'S10: one request with its own prompt and model; what it says is the result, and nothing else enters the context',
    ),
    proved('`includeTextResponse`, `includeToolCalls` and `includeErrors` say what the result has', 'S10: %j'),
    proved(
      '`initUserMessageProperty` and `initAttachmentsProperty` say what it is told',
      'S10: requiredSchema is what it takes; the message is one of its args, and no other is lost',
      'S10: initAttachmentsProperty: files of the caller go with it; what is not there is told, and nothing is sent',
    ),
    proved(
      "Its messages never enter the parent's context",
      'S10: one request with its own prompt and model; what it says is the result, and nothing else enters the context',
    ),
  ),
  S11: item(
    'Two AI sides: perspective, stop order, exchanges',
    proved(
      "Own words are the assistant's, the other side's a user's, and its calls are invisible",
      'S11: roles swap by perspective: own words are the assistant’s, the other’s a user’s, and the other’s calls ' +
        'are not seen',
    ),
    proved(
      "`sessionFail` comes first, then `sessionStop`, then the end of the side's turn",
      'S11: sessionFail comes before sessionStop, and that before the end of the side’s turn; each waits for all ' +
        'calls of the…',
    ),
    proved(
      '`sessionStop` counts only if that call succeeded',
      'S11: sessionStop ends the session with its message and files, only when that call succeeded',
    ),
    proved(
      "A side's turn ends with a response, or with `stopTool` by name",
      'S11: stopTool ends the side’s turn by name, and stopToolResponseProperty is what the other side reads',
      'S11: roles swap by perspective: own words are the assistant’s, the other’s a user’s, and the other’s calls ' +
        'are not seen',
    ),
    proved(
      "`maxSessionTurns` counts exchanges, the lesser of both sides' turns",
      'S11: maxSessionTurns counts exchanges, the lesser of the turns of A and B; session end is not thread end',
    ),
    proved(
      'The end of a session is not the end of the thread',
      'S11: maxSessionTurns counts exchanges, the lesser of the turns of A and B; session end is not thread end',
      'S11: sessionStop ends the session with its message and files, only when that call succeeded',
    ),
  ),
  S12: item(
    'Past a limit children queue; results keep call order',
    proved(
      'Past `maxParallelChildren` children queue, and none fails',
      'KI2: past the limit children wait in line; none fails',
    ),
    proved(
      'Past `maxChildren` they queue',
      'S12: past maxChildren the line is called one by one, in order, with places that everybody sees; calls that ' +
        'do not wait…',
    ),
    proved(
      'Their position is visible',
      'S12: past maxChildren the line is called one by one, in order, with places that everybody sees; calls that ' +
        'do not wait…',
      'C1, S12: names, agents, what each does and waits for, and who waits in line',
    ),
    open('Past the limit of depth they queue', 'refused: nothing would ever make room'),
    proved(
      'Results of parallel children are in call order',
      'KI2: children work beside each other, answer in call order, and end',
      'S12: many children, one in ten of them failing',
    ),
  ),
  S13: item(
    'After a crash parents and children find each other again',
    proved(
      'A parent re-attaches to its running children',
      'P1: after a restart the parent goes on with its children; none is run again',
      'P1, S13: a tree survives …',
    ),
    proved(
      'None is run again',
      'S8, S13, P1: a tree that is cut off after any commit goes on to the same end; no child is lost or there…',
      'P1, S13: a tree survives …',
    ),
    proved(
      'None is orphaned',
      'S8, S13, P1: a tree that is cut off after any commit goes on to the same end; no child is lost or there…',
    ),
    proved(
      'A child whose parent is gone is terminated',
      'S13: a child whose parent is gone is terminated when it speaks',
    ),
  ),
}
