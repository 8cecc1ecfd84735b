import { ErrorBoundary, lazy, Suspense, type Component } from 'solid-js'

/**
 * A component whose code is fetched when it is first shown. It waits inside its own boundary, so that the page around it stays as it is;
 * the worker has the file, so that it opens offline, too. A file that is gone with its build shows nothing; the offer of the new build says why.
 */
export function onDemand<P extends object>(load: () => Promise<Component<P>>): Component<P> {
  const Loaded = lazy(async () => ({ default: await load() }))
  return (props) => (
    <ErrorBoundary fallback={null}>
      <Suspense>
        <Loaded {...props} />
      </Suspense>
    </ErrorBoundary>
  )
}
