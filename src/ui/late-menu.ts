import { onDemand } from './on-demand'

/** The menu for surfaces of the first paint: its code comes with the first press, since nothing of it is seen before. */
export const Menu = onDemand(() => import('./menu').then((module) => module.Menu))
