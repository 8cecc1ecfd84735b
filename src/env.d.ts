/// <reference types="vite/client" />

/** Version of this build, from package.json. */
declare const __VERSION__: string

/** A build of the package without types of its own. */
declare module 'workbox-window/build/workbox-window.prod.mjs' {
  export { Workbox } from 'workbox-window'
}
