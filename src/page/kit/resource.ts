/** Something that is read from the service again whenever a number has changed; what is there stays until then. */
import { useEffect, useState } from 'preact/hooks'
import { getJson, toPageProblem } from './api.js'
import type { PageProblem } from './api.js'

export interface PageResource<Value> {
  readonly value?: Value
  readonly problem?: PageProblem
  readonly again: () => void
}

export function useResource<Value>(path: string, version: string | number): PageResource<Value> {
  const [state, setState] = useState<{ path: string; value?: Value; problem?: PageProblem }>({ path })
  const [times, setTimes] = useState(0)
  useEffect(() => {
    const left = new AbortController()
    getJson<Value>(path, { signal: left.signal })
      .then((value) => setState({ path, value }))
      .catch((thrown: unknown) => {
        if (!left.signal.aborted)
          setState((before) => ({ ...(before.path === path ? before : { path }), problem: toPageProblem(thrown) }))
      })
    return () => left.abort()
  }, [path, version, times])
  const again = (): void => setTimes(times + 1)
  return state.path === path ? { ...state, again } : { again }
}
