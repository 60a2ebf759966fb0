/** The entry of a partition: who holds it, and the newest records that any of its holders may have written. */
import { z } from 'zod'
import type { StreamMessage } from '../connection/read.js'

const ownerSchema = z.object({ host: z.string(), records: z.number().default(0) })

export type PartitionOwner = z.infer<typeof ownerSchema>

export function ownerOf({ data }: StreamMessage): PartitionOwner {
  return ownerSchema.parse(JSON.parse(Buffer.from(data).toString()))
}
