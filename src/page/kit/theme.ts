/** Light or dark: as the system says, unless the user has chosen. The choice is kept in this browser. */
import { signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const name = 'skein-theme'
const isTheme = (value: string | null): value is Theme => value === 'light' || value === 'dark' || value === 'system'

const stored = localStorage.getItem(name)
export const theme = signal<Theme>(isTheme(stored) ? stored : 'system')
/** Goes up when colours have changed: the canvas draws anew. */
export const colours = signal(0)

function apply(): void {
  const value = theme.peek()
  if (value === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = value
  colours.value++
}

const next: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }

export function changeTheme(): void {
  theme.value = next[theme.peek()]
  localStorage.setItem(name, theme.peek())
  apply()
}

export function startTheme(): void {
  apply()
  for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)', '(prefers-contrast: more)'])
    matchMedia(query).addEventListener('change', () => void colours.value++)
}
