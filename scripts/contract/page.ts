/** V · The page. The dashboard. There is none yet. */
import { item, open } from './clause.js'
import type { Section } from './clause.js'

export const page: Section = {
  V1: item(
    'A page that the service serves',
    open('It is served by the service at any mount path, offline, under a strict content policy'),
    open('It shows trees, a tree with its waterfall, a thread, the inbox, effects, hosts, agents, and compares'),
  ),
  V2: item(
    'It never lies',
    open('One fold for list and detail; stale is told, clocks stop, nothing is cut without a word'),
    open('A decision goes to its owner by id'),
    open("Its digest equals the server's after every fault"),
  ),
  V3: item(
    'It is quick, and everybody reaches everything',
    open('10,000 threads and 1,000 events a second stay smooth'),
    open('Keyboard and screen reader reach everything'),
  ),
}
