/** Whether the overlay of keys and marks is open. */
import { signal } from '@preact/signals'

export const isHelpOpen = signal(false)
