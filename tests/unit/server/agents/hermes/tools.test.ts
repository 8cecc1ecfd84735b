import { describe, expect, it } from 'vitest'
import { headOf } from '../../../../../server/agents/hermes/tools'

const start = (name: string, context: string, args?: object) => ({ tool_id: 't', name, context, args_text: args && JSON.stringify(args) })

describe('what the row of a Hermes tool says at its start', () => {
  it('is what it acts on, from the working folder where it lies in there, without the verb of the label', () => {
    expect(headOf(start('read_file', 'Reading /w/src/a.ts', { path: '/w/src/a.ts' }), '/w')).toMatchObject({ verb: 'read', target: 'src/a.ts', locations: [{ path: '/w/src/a.ts' }] })
    expect(headOf(start('read_file', 'Reading /w2/a.ts', { path: '/w2/a.ts' }), '/w')).toMatchObject({ target: '/w2/a.ts' })
    expect(headOf(start('terminal', 'Running echo hi', { command: 'echo hi' }), '/w')).not.toHaveProperty('title')
  })

  it('is the label where the arguments are not to be had', () => {
    expect(headOf(start('terminal', 'Running echo hi + 2 commands'), '/w')).toEqual({ verb: 'run', target: 'echo hi + 2 commands' })
    expect(headOf(start('todo', 'Planning 2 tasks', { todos: [] }), '/w')).toMatchObject({ verb: 'other', title: 'Planning 2 tasks' })
  })
})
