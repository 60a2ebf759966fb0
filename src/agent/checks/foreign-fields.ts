/** Fields of a definition under the name that another library has for them, reported with ours. */
import { isSchema } from '../../core/schema.js'
import type { Definition } from '../define.js'

/** The names that other libraries use for these fields. */
const foreignFields: Readonly<Partial<Record<Definition['kind'], Readonly<Record<string, string>>>>> = {
  tool: {
    inputSchema: 'args',
    input: 'args',
    schema: 'args',
    argsSchema: 'args',
    handler: 'execute',
    func: 'execute',
    run: 'execute',
    invoke: 'execute',
  },
  prompt: { system: 'prompt', instructions: 'prompt', systemPrompt: 'prompt' },
  hook: { execute: 'run', handler: 'run', point: 'on', event: 'on' },
}

interface Misnamed {
  readonly field: string
  readonly meant: string
  readonly text: string
}

/** Fields under the name of another library, if the field that is meant is missing. */
export function misnamedFields(definition: Definition, known: readonly string[]): ReadonlyMap<string, Misnamed> {
  const found = new Map<string, Misnamed>()
  const foreign = foreignFields[definition.kind] ?? {}
  const fields = new Map(Object.entries(definition))
  for (const field of fields.keys()) {
    const meant = known.includes(field) ? undefined : foreign[field]
    if (meant !== undefined && fields.get(meant) === undefined)
      found.set(field, { field, meant, text: `${field}: there is no such field; did you mean ${meant}?` })
  }
  if (definition.kind === 'tool' && fields.get('args') === undefined && isSchema(fields.get('parameters'))) {
    found.set('parameters', {
      field: 'parameters',
      meant: 'args',
      text:
        'parameters: a zod schema belongs in args (parameters is JSON Schema, for what zod cannot say); did ' +
        'you mean args?',
    })
  }
  return found
}
