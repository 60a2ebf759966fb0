/** X · Sandbox. Code of a model or a user. */
import { item, proved } from './clause.js'
import type { Section } from './clause.js'

export const sandbox: Section = {
  X1: item(
    'Code runs in a sandbox that can be stopped',
    proved(
      '`state.runCode` runs JavaScript and TypeScript',
      'runCode runs in a sandbox',
      'X1: %s has its value',
      'X1: types are stripped, in modules too',
    ),
    proved(
      '`execute`, `imports`, `globals` and `modules` are given to it',
      'X1: %s has its value',
      'X1: what one throws is an Error inside',
    ),
    proved(
      '`memoryLimitBytes` and `timeoutMs` limit it',
      'X1: %s ends as `memory` and the next run works',
      'X1, SM2: %s ends as `timeout` and the next run works',
    ),
    proved(
      'The handle is awaited, and `terminate(reason)` ends it',
      'X1: ends code that awaits a host function, with the reason',
      'X1: ends code that %s',
    ),
    proved(
      'The result has a status, a result or an error, logs, reports and a duration',
      'X1: %s has its value',
      'X1: %s is told',
      'X1: logs and reports are kept in order, whatever becomes of the code',
      'X1, SM2: %s ends as `timeout` and the next run works',
    ),
    proved(
      'There are no host globals, no network, no timers, no process',
      'X1: no host globals, no network, no timers, no process',
      'X1: %s leads nowhere',
      'X1: %s cannot be imported',
    ),
    proved('Bad options are a `link_error` result', 'X1: %s with %o', 'X1: the code itself must be a text'),
    proved(
      'An endless loop and a memory bomb are stopped without harm to the host',
      'X1: in a worker thread every bomb is stopped and the thread serves the next call',
      'X1: %s ends as `memory` and the next run works',
      'X1, SM2: %s ends as `timeout` and the next run works',
    ),
  ),
}
