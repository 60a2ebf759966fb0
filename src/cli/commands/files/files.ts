/** `skein files`: the files of a thread from outside; each of its commands is in the file of its name. */
import type { Command } from 'commander'
import { register as registerCat } from './cat.js'
import { register as registerLs } from './ls.js'
import { register as registerPull } from './pull.js'
import { register as registerPush } from './push.js'
import type { RunCommand } from '../../run-command.js'

export function register(command: Command, runCommand: RunCommand): void {
  registerLs(command.command('ls').description('list the files of a thread'), runCommand)
  registerCat(command.command('cat').description('print a file of a thread'), runCommand)
  registerPull(command.command('pull').description('copy files of a thread into a folder'), runCommand)
  registerPush(command.command('push').description('copy a file into a thread'), runCommand)
}
