/**
 * Checks the form of each definition (forms.ts). Fields that depend on one another are checked in tools.ts and
 * agents.ts, names in mentions.ts.
 *
 * - An unknown field is a mistake, reported with the nearest known field.
 * - One cause is one mistake: a field under the name that another library uses is reported with ours, which is then
 *   not reported as missing.
 */
import type { z } from 'zod'
import { isObject } from '../../core/json.js'
import { fieldsAt, wordsOf } from '../../core/mistakes/mistakes.js'
import { nearest } from '../../core/mistakes/nearest.js'
import type { Definition } from '../define.js'
import { misnamedFields } from './foreign-fields.js'
import { forms, nameless } from '../forms.js'
import { lookalike } from '../lookalike.js'
import { isNamed } from '../naming.js'

export interface FormMistake {
  readonly text: string
  /** Where in the definition it is. */
  readonly field: readonly PropertyKey[]
}

/** Mistakes in the form of one definition, without looking at others. */
export function checkForm(definition: Definition): readonly FormMistake[] {
  const form = Object.hasOwn(forms, definition.kind) ? forms[definition.kind] : undefined
  if (!form)
    return [
      {
        text: `kind: ${JSON.stringify(definition.kind)} is none; there are: ${Object.keys(forms).join(', ')}`,
        field: ['kind'],
      },
    ]
  const issues = form.fits(definition)
    ? []
    : (form.whole().safeParse(definition, { jitless: true }).error?.issues ?? [])
  const misnamed = misnamedFields(definition, form.names)
  const strange = strangeTools(definition)
  const rest = issues.filter(
    ({ path: [field, index] }) =>
      ![...misnamed.values()].some((each) => each.meant === field || each.field === field) &&
      !(field === 'tools' && index !== undefined && strange.has(index)),
  )
  return [
    ...[...misnamed.values()].map(({ text, field }) => ({ text, field: [field] })),
    ...[...strange].map(([index, text]) => ({ text, field: ['tools', index] })),
    ...rest.flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownFields(issue, form.whole(), misnamed)
        : [{ text: `${issue.path.join('.') || 'it'}: ${wordsOf(issue)}`, field: issue.path }],
    ),
  ]
}

/** Items among the tools of a prompt that are neither a name nor a relation: the mistake of each, by index. */
function strangeTools(definition: Definition): ReadonlyMap<PropertyKey, string> {
  const tools: unknown = definition.kind === 'prompt' ? definition.tools : undefined
  const found = new Map<PropertyKey, string>()
  for (const [index, tool] of Array.isArray(tools) ? tools.entries() : []) {
    const seems = lookalike(tool)
    if (seems) found.set(index, `tools.${index} ${seems.says}`)
    else if (tool === '') found.set(index, `tools.${index}: ${nameless}`)
    else if (typeof tool !== 'string' && (!isObject(tool) || isNamed(tool)))
      found.set(
        index,
        `tools.${index}: must be the name of a tool, an agent or a prompt; definePrompt takes the definition ` +
          `itself, too`,
      )
  }
  return found
}

function unknownFields(
  { keys, path }: z.core.$ZodIssueUnrecognizedKeys,
  form: z.ZodObject,
  misnamed: ReadonlyMap<string, unknown>,
): readonly FormMistake[] {
  const known = fieldsAt(form, path)
  return keys
    .filter((key) => path.length > 0 || !misnamed.has(key))
    .map((key) => {
      const meant = nearest(key, known)
      const mistake = `${[...path, key].join('.')}: there is no such field`
      return { text: meant === undefined ? mistake : `${mistake}; did you mean ${meant}?`, field: [...path, key] }
    })
}
