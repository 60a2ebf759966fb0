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
      'V1: whatever models, tools and files say stays text, in every place that shows it',
      'V1, H4: the document names its files from whatever address it is asked for',
      'V1, H3: the page needs no key, its data do',
    ),
    proved(
      'It shows trees, a tree with its waterfall, a thread, the inbox, effects, hosts, agents, and compares',
      'V1: files are shown as they were after any change, with what it changed, by %s',
      'V1, V2: a thread is forked at a step after a report of what that crosses, and compared, by %s',
      'V2, V3: a thread is started, steered and stopped, and what its call did is told, by %s',
      'V3: nothing lies on another thing or leaves the window of %i px',
    ),
  ),
  V2: item(
    'It never lies',
    proved(
      'One fold for list and detail; stale is told, clocks stop, nothing is cut without a word',
      'V2: a cut is told at once, clocks and actions stop, and after it the page knows what the server knows',
      'V2: a clock of the browser that is wrong changes no time that is shown',
      'V2: a page that is older than its server says so',
      'V2: a snapshot and the changes after it are the next snapshot, and hold no body',
    ),
    proved(
      'A decision goes to its owner by id',
      'V2, A4: a decision four levels down, by mouse, with other args, and its way is told',
      'V2, V3: the same by keyboard alone; who is second is told so, and nothing runs twice',
      'V2, A4: two people decide at once: one wins, the other sees who, and nothing runs twice',
    ),
    proved(
      "Its digest equals the server's after every fault",
      'V2: a cut is told at once, clocks and actions stop, and after it the page knows what the server knows',
      'V2: after a fault that is seen, the page knows what the server knows',
      'V2: bytes that come one by one, and what is told twice, change nothing',
      'V2: another server takes over: numbers begin anew, and the page reads what it does not know',
      'V2: twelve tabs of a browser are live on one connection',
    ),
  ),
  V3: item(
    'It is quick, and everybody reaches everything',
    open('10,000 threads and 1,000 events a second stay smooth', 'measured by npm run bench:web, and by no test'),
    proved(
      'Keyboard and screen reader reach everything',
      'V2, V3: the same by keyboard alone; who is second is told so, and nothing runs twice',
      'V3: axe finds no fault in %s, %s',
      'V3: a row of the tree is told to who does not see it, and keys keep the focus',
      'V3: columns of a tree stand below their names, to the pixel, and the waterfall has its colours',
    ),
  ),
}
