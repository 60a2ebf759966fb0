/** Fields of a hook that belong to some points alone. Each field by itself has been checked by then. */
import type { HookDefinition } from '../define-hook.js'

export function checkHook({ on, tools, show, onError }: HookDefinition): readonly string[] {
  const says: readonly (readonly [wrong: boolean, text: string])[] = [
    [
      tools !== undefined && on !== 'before_call' && on !== 'after_call',
      "`tools` is for the points 'before_call' and 'after_call'",
    ],
    [show !== undefined && on !== 'after_step', "`show` is for the point 'after_step'"],
    [
      onError === 'block' && on === 'stop',
      "`onError: 'block'` is not for the point 'stop': the turn ends when the hook fails",
    ],
  ]
  return says.flatMap(([wrong, text]) => (wrong ? [text] : []))
}
