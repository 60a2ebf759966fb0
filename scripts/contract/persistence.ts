/** P · Persistence and resume. What survives, and how old data is read. */
import { item, proved } from './clause.js'
import type { Section } from './clause.js'

export const persistence: Section = {
  P1: item(
    'Everything acknowledged survives `kill -9` at any instant',
    proved(
      'With the embedded store nothing that was acknowledged is lost by `kill -9`',
      'P1: work survives …',
      'P1, S13: a tree survives …',
      'P1, N3: on %s nothing that a sender was told of is missing after …',
    ),
    proved(
      'Nor with NATS',
      'P1, N3: on %s nothing that a sender was told of is missing after …',
      'N1, N2, N3, P1: hosts that are killed and stopped and a server that is killed lose nothing of a swarm and ' +
        'repeat…',
      'N2, N1: the threads of a host that is killed go on elsewhere within the lease and a second; nothing is ' +
        'lost or doubled',
    ),
    proved(
      'Finished work is not run again',
      'P1, T4: a journal cut before any record goes on to the same transcript and runs nothing finished again',
      'T3, T4, T5, T6, T7, A2, P1: a journal cut before any record goes on to the same end, and runs nothing ' +
        'finished again',
      'T10, B2: effects happen once over …',
    ),
    proved(
      'Order is kept',
      'P1, S13: a tree survives …',
      'T3, T4, T5, T6, T7, A2, P1: a journal cut before any record goes on to the same end, and runs nothing ' +
        'finished again',
      'P1: queued turns and the order of everything survive',
    ),
    proved(
      'A delete that is killed leaves a whole tree or none',
      'F8, P1, J9: a delete that is killed at any write leaves a whole tree or none (seed …',
    ),
  ),
  P2: item(
    'Versioned records, upcasts, a hash chain',
    proved(
      'Records are versioned, and old journals are read as they were meant',
      'P2: every record version up to this one has a golden journal',
      'P2: the journal %s is read as it was meant',
    ),
    proved(
      'A record from the future is refused with a clear error',
      'P2: a record of a newer version is refused with what to do',
    ),
    proved(
      "Each thread's records form a hash chain, and a break is found on load",
      'P2: an entry that was changed, lost, doubled or moved is found, with its place',
      'P2: a row changed with SQL is found on load',
      'P2, HO3: $what parks the thread with its place; others go on',
    ),
  ),
  P3: item(
    'Definitions may change under living threads',
    proved(
      'A pending call whose tool is gone, or whose args no longer fit, is an error result',
      'P3: a pending tool that is gone is an error result, and the turn goes on',
      'P3: args that no longer fit are an error result, and the body does not run',
    ),
    proved(
      'A thread whose agent is gone is parked and kept, never a crash',
      'P3, HO3: a thread whose agent is gone is parked; its mail is kept, others go on, and it does when the ' +
        'agent is back',
      'P3, HO3: a thread whose agent only a newer app has is parked by an older host, and goes on when a newer ' +
        'one is there',
    ),
  ),
  P4: item(
    'Timeline, fork, rewind, diff, with side effects guarded',
    proved(
      '`timeline`',
      'P4: the timeline has turns and steps with their points; files and messages are read as they were',
      'P4, H1: one scenario by the local API and by the client gives the same',
    ),
    proved(
      '`fork(thread, at)`',
      'P4: a fork goes on from its point by itself, and the source is as it was',
      'P4: a fork at any record settles; the source is byte-equal, and no key of it is used again',
      'P4: a fork is the same after it was let go and read again; a fork of a fork is, too',
      'P4, R1: a run that began in the source is read in the fork: its result, text, calls and events',
      'J10, P4: files of a fork outlive its source, whatever is swept',
      'P4, EP1: a fork opens the variables of its source, a thread of another tree does not; its export has no value',
    ),
    proved(
      '`rewind(thread, to)`',
      'P4: a thread goes back: messages, files and values are as they were, and what follows goes on from there',
      'P4: in the middle of a turn it is one that failed there, and resume goes on with it; chains of rewinds end',
    ),
    proved(
      '`diff` of messages and files between two points',
      'P4: the timeline has turns and steps with their points; files and messages are read as they were',
      'C1, P4: timeline lists the points of a thread, and diff what differs between two of them',
    ),
    proved(
      'Crossing a succeeded or unknown side effect is blocked with a report, unless forced',
      'P4: effects of a fork wait for an approval, or are refused, as it was said',
      'P4, H3: what was crossed is a problem with the report; that it is done again needs the scope approve',
      'P4, H3: a thread goes back over HTTP; undoing effects or leaving them needs the scope approve',
      'P4: a fork goes on from its point by itself, and the source is as it was',
    ),
    proved(
      '`revert` handlers run in reverse order after all were resolved',
      'T10, P4: reverts run newest first, each under the key of its call, and then the thread goes back',
      'P4: a revert that fails leaves the thread where it stood, and says what was undone',
      'T10, P4: a rewind goes on after a crash at any of its commits, and undoes each effect once',
      'T10, P4: what is undone is undone once over …',
    ),
    proved(
      '`fork` of a whole tree at a consistent cut',
      'B4, P4: a tree forked at any position settles as its source did',
    ),
  ),
}
