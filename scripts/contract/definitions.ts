/** D · Definitions. What is defined, and what becomes of it when an app is loaded. */
import { item, proved } from './clause.js'
import type { Section } from './clause.js'

export const definitions: Section = {
  D1: item(
    'Definitions are plain data; names unique, reserved ones refused',
    proved(
      '`defineTool`, `definePrompt`, `defineAgent` and `defineModel` give what they were given with its kind, and ' +
        'run nothing',
      'D1: gives what it was given, with its kind, and runs nothing',
      'D1: definitions are found by kind and name, and nothing ran',
    ),
    proved(
      '`defineHook` is one of them',
      'D1: a hook is plain data, and its mistakes are found when the app is loaded',
    ),
    proved(
      '`defineThreadEndpoint` is one of them',
      'D2, H2: files in api/ and its folders are endpoints; two of one route and wrong names are mistakes',
      'H2: a file gives the route: method suffix, index, [name], [*]; static before dynamic before catch-all',
    ),
    proved(
      'A name is unique within its kind, and that is checked when the app is loaded',
      'D1: a name twice within a kind',
      'D1: two kinds may share a name',
    ),
    proved(
      'Each of the reserved names is refused, with an error that names the file',
      'D1: the reserved name %s, with the file',
      'D1: a reserved name is refused with the very file',
      'D1: a mistake in the app names the file',
    ),
  ),
  D2: item(
    'An app is a module URL or a folder, imported by host and workers alike',
    proved(
      'An app is a module, by path or URL, that exports its definitions',
      'a module by path or URL; nothing of it runs but the module itself',
    ),
    proved(
      'Workers import the module that the host imports, so that a body runs there and no closure crosses',
      'D2: a worker thread imports the same definitions from one module, by the same names',
      'a tool runs in a worker process, unless it says that it is at home on the host',
    ),
    proved(
      'A folder is an app: `agents/`, `prompts/`, `tools/`, `models/`',
      'D2: files give their definitions their names, and share what they import',
    ),
    proved(
      'In a folder the file gives its definition the name',
      'D2: files give their definitions their names, and share what they import',
      'D2: what is wrong with its files, each by its path',
    ),
    proved('`hooks/*.ts` of a folder are hooks', 'D2: files in hooks/ are hooks, named after their files'),
    proved(
      '`api/**/*.ts` of a folder are endpoints',
      'D2, H2: files in api/ and its folders are endpoints; two of one route and wrong names are mistakes',
    ),
    proved(
      "A tool that says `where: 'host'` runs in the process of the host",
      'a tool runs in a worker process, unless it says that it is at home on the host',
    ),
  ),
  D3: item(
    'The kind of a tool follows from its shape',
    proved(
      'Function, generator, manual and human-in-the-loop are known by their fields',
      'D3: function, generator, manual and human, from the shape',
    ),
    proved('Fields of different kinds together are a mistake', 'D3: %s'),
    proved(
      'A prompt tool and an agent tool are known by what their name means',
      'D3: a prompt tool and an agent tool are known by what their name means',
    ),
    proved(
      'A tool that the provider runs is a kind of tool',
      'D3: a search of Anthropic is part of the reply, runs nothing here, and goes back whole',
    ),
  ),
  D4: item(
    'Everything a tool may declare',
    proved('Every field of the list may be given', 'D4: %s is good'),
    proved(
      'A field that does not exist, or does not fit, is told when the app is loaded',
      'D4: %s',
      'D4: %s without a side effect',
      'D1: %s',
      'D4: %s is called args',
    ),
    proved(
      '`needsApproval` is a boolean or a function of the args',
      'A1: the call waits, durably, with all that someone needs to decide; approved, it runs',
      'A1: a function decides, and one that throws lets nothing run',
    ),
    proved(
      'The function of `needsApproval` is given the state: its thread, and the contexts as they are',
      'D4: the function of needsApproval is given the thread and the contexts, as they are when the call is asked for',
      'D4: a context that the function needs and nobody has set lets nothing run, and says so',
    ),
    proved(
      '`approvalPrompt` and `approvalDefaults` reach whoever decides',
      'A1: the call waits, durably, with all that someone needs to decide; approved, it runs',
    ),
    proved(
      '`timeoutMs` ends a body, `cache`, `retry` and `maxExecutionsPerRun` do what T5 to T7 say',
      'T2: a body that takes too long is told and its result is dropped',
      'T5: equal calls of a run are run once, in one step too, and a hit says so',
      'T6: a failed body is tried again, with a wait that doubles; only the last outcome is told',
      'T7: a cap counts successes and is exact under parallel calls; null is no cap, 0 is never',
    ),
    proved(
      '`sideEffect`, `idempotent`, `commutes`, `probe` and `onUnknown` do what T3 and T10 say',
      'OU3: a call with a side effect waits for those before it and holds back those behind it',
      'T10, T3: effects that commute run beside each other, each after its intent',
      'EX3: an idempotent one runs again with the same key, and so does one that says retry',
      'EX3: a probe asks the world first',
      'T10: with onUnknown ask a person decides; approved it runs with the same key, rejected it does not, and a ' +
        'restart asks…',
    ),
    proved(
      '`cpu: true` gives a body a worker to itself',
      'D4: cpu gives a body a worker to itself, while others share theirs',
    ),
    proved(
      '`revert` undoes an effect',
      'T10, P4: reverts run newest first, each under the key of its call, and then the thread goes back',
    ),
    proved(
      "`retention: 'keep'` keeps a long result whole",
      'T12: a long result is cut, and the whole can be asked for; only then',
    ),
    proved(
      '`toModelOutput` says what the model reads',
      'the model reads what toModelOutput makes of the value itself',
      'T12: a long result is cut, and the whole can be asked for; only then',
    ),
    proved(
      '`uses` names tools that are there, and no circle',
      'D4: uses names tools that are there',
      'D4: a tool that uses %s',
    ),
  ),
  D5: item(
    'Prompts: parts, model chain, tools, what of the chat they see',
    proved(
      'A prompt is a text, or parts: text, another prompt, a variable',
      'D5: texts and whole prompts, with nothing between them',
      'D5: its parts, tools, choice, way of calling and reasoning reach the model',
      'D5, F2: a variable is shown as it is at each step: of the thread, its prompt, what it includes, its default',
    ),
    proved(
      'Its model may have a chain of fallbacks',
      'D5: what it does not say is left to the model; a model that fails has its chain',
    ),
    proved(
      'Its tools are names or configs of tools',
      'D3: a prompt tool and an agent tool are known by what their name means',
      'D5: its parts, tools, choice, way of calling and reasoning reach the model',
    ),
    proved('`includeChat` and `includePastTools` say what it reads of earlier turns', 'D5: %s'),
    proved(
      '`parallelToolCalls`, `toolChoice` and `reasoning` reach the model',
      'D5: its parts, tools, choice, way of calling and reasoning reach the model',
    ),
    proved(
      '`requiredSchema` is what whoever calls it must give',
      'S10: requiredSchema is what it takes; the message is one of its args, and no other is lost',
      'S1: the requiredSchema of the agent’s prompt is what its tool takes; the mapped args are message, files ' +
        'and name',
    ),
    proved(
      'It waits for its `variables`, and gives its `env` to its tools',
      'F2, D7: the turn waits before its %s’s model is asked, and reads what was said meanwhile',
      'F2: looked up in the thread, its agent, its prompt, the tool and the skein, in this order',
    ),
    proved('It has `hooks`', 'K1: the hooks of a prompt replace those of its agent'),
    proved(
      '`exposeAsTool` lets others call it, with its `toolDescription`',
      'S10: one request with its own prompt and model; what it says is the result, and nothing else enters the context',
      'D1: %s among the tools of a prompt',
    ),
    proved(
      '`outputSchema` is the form of its answer',
      'T12: response gives the output in the asked form, tells what is wrong field by field, and ends the turn',
      'T12: prose is asked again, with the tool forced, and the value is the answer',
    ),
  ),
  D6: item(
    'Agents of one or two AI sides, their stops and limits',
    proved(
      'An agent is `ai_human` with one AI side, or `dual_ai` with two',
      'D6: may have two sides with all their fields',
      'D6: %s is a mistake',
    ),
    proved(
      'A side has a prompt and a label',
      'S11: roles swap by perspective: own words are the assistant’s, the other’s a user’s, and the other’s calls ' +
        'are not seen',
    ),
    proved(
      "A side's turn ends with a response (by default), or by `stopTool` with `stopToolResponseProperty`",
      'S11: stopTool ends the side’s turn by name, and stopToolResponseProperty is what the other side reads',
      'D6: stopTool, stopOnResponse, sessionStop and sessionFail end its turn',
    ),
    proved(
      '`maxSteps` limits a side',
      'D6: maxSteps counts the replies of one side in one of its turns',
      'L1: maxSteps stops after the calls of the last step, with what was said',
    ),
    proved(
      '`sessionStop`, `sessionFail` and `sessionStatus` are names of tools, or say which properties hold message ' +
        'and files',
      'S11: sessionStop ends the session with its message and files, only when that call succeeded',
      'S11: sessionFail comes before sessionStop, and that before the end of the side’s turn; each waits for all ' +
        'calls of the…',
      'S7: sessionStatus tells the parent how far it is, when that call succeeded',
    ),
    proved(
      '`maxSessionTurns` limits a session',
      'S11: maxSessionTurns counts exchanges, the lesser of the turns of A and B; session end is not thread end',
    ),
    proved(
      '`exposeAsTool` and `toolDescription` make it a tool of others',
      'D3: a prompt tool and an agent tool are known by what their name means',
      'S9: what a model is told: who takes over, and what it needs; nobody hands over to itself',
    ),
    proved(
      '`env` gives values to its threads, `budget` what they may spend, `supervision` what becomes of failing children',
      'F2: looked up in the thread, its agent, its prompt, the tool and the skein, in this order',
      'L2: a child’s budget is its relation’s, else its agent’s, else a share; it is reserved while the child ' +
        'works, and the…',
      'B5: that fails is called again as another thread, with the same message; its siblings go on, and the call waits',
    ),
    proved('It has `hooks`', 'K1, S9: an agent that takes over brings its own hooks, and the others are asked no more'),
  ),
  D7: item(
    'Declared variables, text or secret',
    proved(
      'A variable has a name, a type, a default, a description, and may be required: checked when the app is loaded',
      'D4: %s is good',
      'D4: %s',
    ),
    proved(
      'It is a secret unless it says `text`',
      'F3: a secret in a thrown error, a result, a log or an event is masked before anyone else sees it',
    ),
    proved(
      'It is required unless it says otherwise',
      'missing is what is required (by default) and found nowhere, each name once and in order',
      'F2, D7: what the skein, the agent or the prompt gives is no reason to wait; an optional variable neither',
    ),
    proved(
      'One that is scoped is not inherited',
      'F2: a child has its parent’s values except those that its graph scopes; a later set flows to living ' +
        'descendants by the…',
    ),
    proved(
      'Tools, prompts and agents declare them',
      'F2, A4: its call waits and says for what, the others of the step run; with the last value it goes on',
      'F2, D7: the turn waits before its %s’s model is asked, and reads what was said meanwhile',
    ),
  ),
  D8: item(
    'Types flow from schema to body; no `any` in public types',
    proved(
      '`execute` sees the type of the parsed args',
      'D8: the parsed args, and nothing of it is any',
      'D8: a field that the args do not have does not compile',
    ),
    proved(
      '`InferToolInput`, `InferToolOutput`, `InferToolEvent` and `InferToolContext` read the types off a tool',
      'D8: the parsed args, and nothing of it is any',
      'D8: contexts by their schemas; without one there is none to set',
      'D8: what it returns, or what outputSchema makes of it',
      'D8: events by eventSchema; without one there are none',
    ),
    proved(
      'A tuple of tools gives a typed union of calls',
      'D8: a typed union of calls, with the args as a model sends them',
    ),
    proved(
      'No `any` leaks out of the public types, and one would be found',
      'D8: no any in the public types',
      'D8: no any in what a precise definition is and gives',
      'D8: an any is found wherever it is',
    ),
  ),
  D9: item(
    'Foreign tools (MCP, LangChain, AI SDK) through one adapter',
    proved(
      'LangChain tools become tools',
      'D9: a tool keeps its name, description, schema and value',
      'D9: DynamicTool, a subclass of StructuredTool, JSON Schema and a runnable as a tool',
    ),
    proved(
      'AI SDK tools become tools',
      'D9: a record of tools: zod, jsonSchema, dynamicTool',
      'D9: approval, output schema, abort signal and streamed results are carried over',
    ),
    proved(
      'Any object with `func`, `invoke`, `call`, `_call` or `run` becomes a tool',
      '%s is called on its object, with the args and the signal',
    ),
    proved(
      '`fromMcp` lists and calls the tools of a real MCP server, over stdio and HTTP',
      'D9: args are checked and repaired before the server hears of them',
      'D9: it writes and reads, and its hints are believed',
      'D9: it is called, and again after it was started anew',
    ),
    proved(
      'MCP content, images and errors are carried over',
      'D9: structured content, images and resources',
      'D9: audio, embedded resources and links are carried over, and told to the model in words',
      'errors are results, and the model reads no bytes in them',
    ),
  ),
}
