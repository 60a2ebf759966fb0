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
    open('Name and description of a `SKILL.md` folder are in the prompt, the rest on demand'),
    open('Its scripts run only through allowed tools'),
  ),
  E3: item(
    'Agents and prompts as Markdown',
    open('Agents and prompts may be Markdown with front matter, beside TypeScript'),
    open('Names are checked by a generated type map and by the loader'),
  ),
  E4: item('A2A 1.0', open('An agent is served as one'), open('A remote one is a subagent')),
  E5: item('A face for MCP clients', open('Agents and threads are served to any MCP client')),
  E6: item(
    '`skein init`, `dev` and `chat`',
    open('`skein init`'),
    open('`skein dev` reloads without losing a thread'),
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
    open('`zod` is a peer, any version 4', '4.3 or newer is asked for'),
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
