/**
 * Text of models and tools before it is shown: what would change how other text reads is made visible or taken out.
 * Escape sequences of terminals go; characters that turn the direction of a line are shown as marks.
 */

// oxlint-disable-next-line no-control-regex -- these are what is looked for
const escapes = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[@-Z\\-_])/g
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const controls = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/g
const turning = /[\u202A-\u202E\u2066-\u2069\u200E\u200F\u061C]/g
const lone = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g

export function plainText(text: string): string {
  return text.replaceAll(escapes, '').replaceAll(controls, '').replaceAll(turning, '␣').replaceAll(lone, '\uFFFD')
}
