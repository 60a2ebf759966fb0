/** N · Distribution. Many hosts on one NATS. */
import { item, proved } from './clause.js'
import type { Section } from './clause.js'

export const distribution: Section = {
  N1: item(
    'Many hosts serve one set of threads, fenced',
    proved(
      'Any number of host processes serve one set of threads',
      'N1, HO3: a host that joins gets its share, and both serve threads that either of them is asked for',
    ),
    proved(
      'Children land on any host',
      '09-two-hosts: one of them is killed, the other goes on, and no river is booked twice',
    ),
    proved(
      '`skein host` joins and leaves without loss',
      'C1, N1: host joins a namespace on NATS; run and hosts are its clients, and without it run is a host itself',
      'N1: a host that leaves hands over what it had, and the other goes on with it',
      'N2: a host that is asked to leave hands over in well under a second',
    ),
    proved(
      'Two hosts never both commit for a thread',
      'N1: a zombie, stopped for longer than its lease and continued, writes nothing, stands down and takes part again',
      'J2: a commit with an older epoch is refused and changes nothing',
      'takes itself for dead before anyone else may take its place; what it writes then is refused',
    ),
  ),
  N2: item(
    'Threads of a dead host go on elsewhere',
    proved(
      'A host killed with -9: its threads go on elsewhere within the lease and a second',
      'N2, N1: the threads of a host that is killed go on elsewhere within the lease and a second; nothing is ' +
        'lost or doubled',
    ),
    proved(
      'A graceful stop hands over in well under a second',
      'N2: a host that is asked to leave hands over in well under a second',
    ),
  ),
  N3: item(
    'A NATS restart or cut is waited out, never silent',
    proved(
      'A restart of the server: hosts wait and go on',
      'N3: is killed and started again under load; every message is answered once, and hosts go on',
      'NG2: a commit under way waits and is written once; mail is heard of after it; listeners are told that ' +
        'they missed…',
    ),
    proved(
      'A network cut: hosts wait and go on',
      'N1, N3: a host that is cut off for …',
      'NT1: mail that came while the cable was cut is heard of after it, in order and once',
    ),
    proved(
      'Senders get an error or a receipt, never silence',
      'N3: a sender whose only host is killed is told so when its lease has ended, and what it sent is done ' +
        'by the next',
      'N3: a sender whose answer was lost with its connection is answered when it is back, not when its ' +
        'patience ends',
      'NS2, N3: a server that is full says so to whoever sends; when there is room again everything goes on',
    ),
  ),
  N4: item(
    'The same app and tests on every backend',
    proved(
      'The same app comes to the same end in memory, in a folder and on NATS',
      'N4: ends with the same words, threads, transcripts and files as in memory',
      'N4, P1: is cut off after any of its commits and goes on to the same end',
    ),
    proved('The same tests run on each of them', 'backend contract: …'),
  ),
}
