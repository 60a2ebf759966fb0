/** C · Command line. The `skein` command. */
import { item, proved } from './clause.js'
import type { Section } from './clause.js'

export const cli: Section = {
  C1: item(
    'The command line, its JSON and its exit codes',
    proved(
      '`run`, `send`, `host`, `doctor`',
      'C1: exits 0; stdout has the words of the agent, stderr what it did',
      'C1: send is answered, and --wait shows the turn',
      'C1: host serves a folder until it is stopped, and says so',
      'C1: doctor gives a line for each finding, or an object, and exits 1 when something fails',
    ),
    proved(
      '`ps`, `tree`, `show`, `tail`',
      'C1: ps lists and filters',
      'C1, S12: names, agents, what each does and waits for, and who waits in line',
      'C1: show gives the thread and its last messages',
      'C1: tail --no-follow gives the events so far, from a cursor on',
    ),
    proved(
      '`approve`, `deny`, `answer`',
      'C1, A1: approve --wait shows the turn to its end; a second decision exits 4',
      'C1, A1: deny says why to the model, and the call never runs',
      'C1, A3: answer gives %s',
    ),
    proved(
      '`cancel`, `resume`, `env`',
      'C1: cancel ends the turn: run exits 2',
      'C1: pause makes run exit 3, once; resume lets the thread go on',
      'C1, F2: run says what is missing and exits 3; what is given by stdin, file or line is kept, and the next ' +
        'run goes on',
    ),
    proved(
      '`files ls`, `files cat`, `files pull`',
      'C1: ls lists names, -R all below, -l with mode, size and target',
      'C1: cat gives the bytes as they are; with --json text or base64',
      'C1: pull copies contents, modes and the links that stay inside (PE3)',
    ),
    proved(
      '`dev`',
      'E6: an edit while an effect runs: it is done once and kept, the turn goes on with the new version',
      'E6: an app that does not load at the start is waited for; other mistakes end the command',
    ),
    proved(
      '`serve`',
      'C1, H1: serve answers HTTP with the keys of the environment; SIGTERM ends streams and hands over',
      'C1, H3: serve says who may use it before it opens anything; keys new makes an entry for its file',
      'C1, O1: with --log-json all lines of serve are JSON, one for each turn; cards have the public address',
    ),
    proved(
      '`fork`, `timeline`, `diff`',
      'C1, P4: timeline lists the points of a thread, and diff what differs between two of them',
      'C1, P4: a fork that crosses effects exits 4 with the report; with --app it goes on here, on other definitions',
      'C1, P4: rewind is blocked with the report, undoes with --revert, and goes back; all through a server, too',
      'C1, P4: an experiment runs forks of each variant, prints what each did, and keeps them by tags',
    ),
    proved(
      '`bench`',
      'C1: bench measures memory and a folder, leaves nothing behind, and refuses what it cannot measure',
    ),
    proved(
      '`sim`, `export`, `replay`',
      'B8, C1: sim runs the simulation of a file: 0 with what happened, 1 with the seed that fails, 4 without one',
      'B10, C1: export writes a thread into a file, replay asks an app about it: 0 same, 1 diverged',
      'B10, C1: what cannot be exported or replayed exits 4 and says why',
    ),
    proved(
      '`--json` gives events, results and errors as JSON',
      'C1: stdout has the events, one per line, and then what the run came to',
      'C1: errors are JSON on stderr',
      'C1: so are usage errors',
      'C1, R2: --json has the events of all threads of the tree, then what the run came to',
    ),
    proved(
      '`--json` of every command',
      'C1: --json of commands that steer and decide is one object on stdout, and nothing for people',
      'C1, H1: through a server commands print what they print on the store, for people and for programs',
    ),
    proved('`effects`', 'C1, B2: effects lists what nobody knows, and records once what was found out'),
    proved(
      'Exit codes 0, 1 and 2',
      'C1: exits 0; stdout has the words of the agent, stderr what it did',
      'C1: a failed turn exits 1 and says why; the next run tries it again',
      'C1: cancel ends the turn: run exits 2',
    ),
    proved(
      'Exit codes 3 and 4',
      'C1, A1: a turn that waits for approval exits 3 and says what to type; what is typed is kept, and the next ' +
        'run goes on',
      'C1: %s exits 4 with one line',
    ),
    proved(
      'Exit codes 130 and 143',
      'C1: Ctrl-C keeps the turn, exits 130 and names the command that finishes it',
      'C1: SIGTERM does the same and exits 143',
    ),
    proved(
      'A live tree with progress on a terminal',
      'C1: on a terminal children are below the turn: one line for all, then those that there is room for',
      'C1: shows words and calls live, in colour unless NO_COLOR',
    ),
    proved(
      'Plain lines otherwise',
      'C1: without a terminal there are no escape codes, not even those of the model',
      'C1: a line when a child begins and when it ends, those of its own children too; stdout has the words of ' +
        'the agent alone',
    ),
  ),
}
