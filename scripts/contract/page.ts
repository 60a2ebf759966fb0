/** V · The page. The dashboard. */
import { item, open, proved } from './clause.js'
import type { Section } from './clause.js'

export const page: Section = {
  V1: item(
    'A page that the service serves',
    proved(
      'It is served by the service at any mount path, offline, under a strict content policy',
      'V1: the page works below a path, and asks nobody else for anything',
      'V1: text of models and tools is text, and asks for nothing',
      'V1, H4: the document names its files from whatever address it is asked for',
      'V1, H3: the page needs no key, its data do',
    ),
    open(
      'It shows trees, a tree with its waterfall, a thread, the inbox, effects, hosts, agents, and compares',
      'it compares nothing, and shows files as they are now',
    ),
  ),
  V2: item(
    'It never lies',
    proved(
      'One fold for list and detail; stale is told, clocks stop, nothing is cut without a word',
      'V2: a cut is told at once, clocks and actions stop, and after it the page knows what the server knows',
      'V2: a snapshot and the changes after it are the next snapshot, and hold no body',
    ),
    proved(
      'A decision goes to its owner by id',
      'V2, A4: a decision four levels down, by mouse, with other args, and its way is told',
      'V2, V3: the same by keyboard alone; who is second is told so, and nothing runs twice',
    ),
    open(
      "Its digest equals the server's after every fault",
      'after a cut and a new epoch; other faults are not played',
    ),
  ),
  V3: item(
    'It is quick, and everybody reaches everything',
    open(
      '10,000 threads and 1,000 events a second stay smooth',
      'measured by npm run bench:web on a busy machine alone',
    ),
    proved(
      'Keyboard and screen reader reach everything',
      'V2, V3: the same by keyboard alone; who is second is told so, and nothing runs twice',
      'V3: the page has no fault of axe in light, also where it is not live',
      'V3: the page has no fault of axe in dark, also where it is not live',
    ),
  ),
}
