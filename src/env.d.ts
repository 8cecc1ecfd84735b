/// <reference types="vite/client" />

/** Version of this build, from package.json. */
declare const __VERSION__: string
