/** E · Ecosystem. Where Skein runs, and what it works with. */
import { item, open, proved } from './clause.js'
import type { Section } from './clause.js'

export const ecosystem: Section = {
  E1: item(
    'Node 20.19 to 26, AI SDK models v2 to v4',
    open('It runs on Node 20.19, 22, 24 and 26', '`npm run test:node -- 24` by hand'),
    open('The suites run on the oldest and on a current Node', 'by hand, not in `npm test`'),
    proved(
      'Models of the specifications v2 and v3 are taken',
      'v2 shapes, unknown parts and calls the provider runs itself',
      'AT3: deltas and calls agree on their index; v3 usage and finish',
    ),
    proved(
      'Models of the specification v4 are taken',
      'v4 has a word for reasoning',
      'E1, S8: %s has its own form for files, of messages and of results',
      'no finish part, an error part and an error finish are MODEL_UNAVAILABLE',
    ),
  ),
  E2: item(
    'Agent Skills',
    proved(
      'Name and description of a `SKILL.md` folder are in the prompt, the rest on demand',
      'E2: five skills of different make: names and descriptions are in the prompt, in order, and on one line',
      'E2: load_skill gives the body, what it requires, and the names of its files',
      'E2: read_skill_file reads a file or some lines of it, and copies one to the thread’s own files',
    ),
    proved(
      'Its scripts run only through allowed tools',
      'E2: allowed-tools grants nothing: a tool that the prompt does not name is not there',
      'E2: nothing but the files of the skill can be read',
    ),
    proved(
      'Its fields and sizes are those of the format; a broken one is told with file and line',
      'E2: a broken skill is told with its file and line, and all of them at once',
      'E2: no link leads out of a skill, and one skill has one home',
      'E2: ten megabytes are refused before they are read',
    ),
    proved(
      'A prompt has the skills that it names; one that a later version does not have is an error result',
      'E2: a prompt has the skills that it names, and no others',
      'E2, P3: after a restart with another version of the app, a skill that is gone is an error result',
      'E2, D2: where bodies run in worker processes, skills are read all the same',
    ),
  ),
  E3: item(
    'Agents and prompts as Markdown',
    proved(
      'Agents and prompts may be Markdown with front matter, beside TypeScript',
      'E3: it stands beside TypeScript, and runs; line ends and a byte order mark change nothing',
      'E3: a prompt in Markdown has all fields of a prompt, and a description makes it one to call',
      'E3: a name that two files give is told with both',
    ),
    proved(
      'Subagent files of coding agents load as they are, or say what they lack, with their line',
      'E3: the subagent file of a coding agent is an agent and its prompt',
      'E3: tools of other names: without regard to case, of a server, refused ones left out',
      'E3: without a name of a model it is the only one, or the one that says so',
      'E3: what a file lacks is told with its line and a suggestion, and all mistakes at once',
    ),
    proved(
      'Names are checked by a generated type map and by the loader',
      'E3: with the names of the app a wrong one is a type error, without them every text is a name',
      'E3, C1: skein types writes the names, and --check says whether they are those of the app',
    ),
  ),
  E4: item(
    'A2A 1.0',
    proved(
      'An agent is served as one: card, send, stream, get, list, cancel; the inbox is input-required',
      'E4: an agent has a card, and answers; the conversation goes on; a message that is sent again is one',
      'E4: tasks are got and listed, page by page',
      'E4: a stream has the task, its words, and how it ends; another one joins',
      'E4: what waits in the inbox is input-required, and the next message decides',
      'E4: a task is cancelled once; one that fails says why; a client that leaves ends nothing',
      'E4, H3: scopes hold, push notifications are off, and what is wrong is an error of the protocol',
    ),
    proved(
      'A remote one is a subagent',
      'E4: a remote agent answers as a child: %o',
      'E4: a task that asks back is an answer, and the next message goes to that task',
      'E4: what goes wrong at the remote agent is an error result of the call, with the reason',
    ),
    proved(
      'Its task goes on after its host has gone, and is cancelled with its turn',
      'E4: a host that goes leaves the task alone, and the next one goes on with it: nothing is sent twice',
      'E4: a server that goes away in a turn is found again, and its task goes on',
      'E4: a turn that is cancelled cancels the task',
    ),
  ),
  E5: item(
    'A face for MCP clients',
    proved(
      'Agents and threads are served to any MCP client, over HTTP and stdio',
      'E5: agents and routes are tools; an agent answers, and its thread goes on',
      'E5: threads are resources, page by page',
      'E5: mcp is a host for its client; stdout has the protocol alone; kill -9 in a call loses nothing',
    ),
    proved(
      'Progress and cancellation; a client that leaves ends nothing',
      'E5: what happens in a turn is told as progress',
      'E5: a call that is cancelled ends its run over stdio (%s)',
      'E5: a client that leaves ends nothing',
    ),
    proved(
      'A question to a person is an elicitation where the client has it',
      'E5: an approval becomes an elicitation, and the call goes on',
      'E5: a person rejects, declines, or leaves it for later',
      'E5: questions become a form; an answer that does not fit is asked for again, and says why',
      'E5: a client that cannot ask its person gets what the turn waits for, and decides with tools',
    ),
    proved(
      'Scopes hold, and what is wrong is told',
      'E5, H3: a key sees and calls the tools of its scopes, and its own trees',
      'E5: what is wrong is told: a tool, an argument, a thread, a turn that fails',
      'E5: a state that the server did not give is refused',
    ),
  ),
  E6: item(
    '`skein init`, `dev` and `chat`',
    proved(
      '`skein init`',
      'E6: init makes a project and prints how to run it; a second time it refuses, and names the files',
      'E6: files that it does not write are left alone; one that it would replace stops it before it writes',
      'E6: a name that no package may have is refused, with what to do',
      'E6: the commands are those of the package manager that runs it, and at the root of a workspace',
      'E6: what init makes is installed, starts offline, and passes its own test',
    ),
    proved(
      '`skein dev` reloads without losing a thread',
      'E6: an edit while an effect runs: it is done once and kept, the turn goes on with the new version',
      'E6: kill -9 after a reload, while an effect runs: it is not done again, and the thread goes on',
      'E6: an app that does not load at the start is waited for; other mistakes end the command',
      'E6, VN1: a side effect under way ends where it began, once; the next step is of the new version',
      'E6, VN1: a pure body under way ends where it began, once; the next step is of the new version',
      'E6, VN1: a model that is being asked is not asked again',
      'E6: an app that is refused changes nothing',
      'E6, TH6: a thread without its agent stands still, and goes on when it is back; its effect is done once',
      'E6: a file that the app imports, and only if its contents are others',
      'E6: a file that comes into a folder by convention, or goes, also into one that was not there',
    ),
    proved(
      '`skein chat`',
      'C1: a line is a message; /exit ends, and the command that goes on is told',
      'A1, C1: what a turn waits for is asked in between',
    ),
  ),
  E7: item(
    'Installs anywhere, beside any zod 4',
    proved(
      'It installs without a compiler and with install scripts blocked',
      'E7: installs without a warning, a compiler and install scripts, and nothing in it is under a copyleft licence',
    ),
    open(
      '`zod` is a peer, any version 4',
      '4.3 or newer is asked for, by types alone: declarations name `ZodExactOptional` (4.3) and the second parameter ' +
        'of `ZodDiscriminatedUnion`. Skein runs on a copy of its own, and takes schemas of 4.0',
    ),
    proved(
      'Several copies of zod do not break types',
      'E7, D8: the README and every public type compile with the oldest TypeScript and the newest, with two ' +
        'copies of zod, and…',
      'E7: a schema of another copy is parsed, repaired and told with its descriptions',
      'D8: tools with schemas of two copies are tools alike',
    ),
    proved(
      'There is a minimum of TypeScript, and it compiles there',
      'E7, D8: the README and every public type compile with the oldest TypeScript and the newest, with two ' +
        'copies of zod, and…',
    ),
  ),
}
