import { lazy, Suspense, type Component } from 'solid-js'

/**
 * A component whose code is fetched when it is first shown. It waits inside its own boundary, so that the page around it stays as it is;
 * the worker has the file, so that it opens offline, too.
 */
export function onDemand<P extends object>(load: () => Promise<Component<P>>): Component<P> {
  const Loaded = lazy(async () => ({ default: await load() }))
  return (props) => (
    <Suspense>
      <Loaded {...props} />
    </Suspense>
  )
}
