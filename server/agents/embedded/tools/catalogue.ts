import { askPerson } from './ask-person'
import type { ChildDeps } from './child'
import { list } from './list'
import { patch } from './patch'
import { read } from './read'
import { search } from './search'
import { makeShell } from './shell'
import type { Tool } from './tool'
import { write } from './write'

/** The tools of the embedded agent, in the order in which a model is told of them. */
export function makeTools(deps: ChildDeps): Tool[] {
  return [list, read, search, write, patch, makeShell(deps), askPerson]
}
