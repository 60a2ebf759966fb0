/**
 * AES-256-GCM in text form: base64url of nonce (12 bytes), ciphertext and tag (16 bytes).
 *
 * - Every box has a fresh random nonce. One key must not encrypt more than 2^32 boxes; a data key serves one tree.
 * - A box opens only with its own key and `bound` text, whole and unchanged. Each box has one spelling: other base64
 *   of the same bytes is refused.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const cipherName = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

export const keyBytes = 32

export function encrypt(key: Buffer, plain: string | Buffer, bound: string): string {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(cipherName, key, nonce, { authTagLength: tagBytes })
  cipher.setAAD(Buffer.from(bound))
  const parts = [
    nonce,
    typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain),
    cipher.final(),
    cipher.getAuthTag(),
  ]
  return Buffer.concat(parts).toString('base64url')
}

/** Undefined where `encrypt` did not make the box with this key and `bound`. The caller wipes the result. */
export function decrypt(key: Buffer, box: string, bound: string): Buffer | undefined {
  const bytes = Buffer.from(box, 'base64url')
  if (bytes.length < nonceBytes + tagBytes || bytes.toString('base64url') !== box) return undefined
  const decipher = createDecipheriv(cipherName, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(bound))
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  const plain = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
  try {
    decipher.final()
    return plain
  } catch {
    plain.fill(0)
    return undefined
  }
}
