import { expect, test } from 'vitest'
import type { Row } from '../../../../server/contract/rows'
import { counts, hollow } from '../../../../src/transcript/steps'

const thought = (state: Row['state'], text: string): Row => ({ id: 'row_1', n: 1, turn: 'trn_1', pos: '11', seq: 1, at: 1, kind: 'thought', state, text })

test('case 108: a thought that proved to be an echo as a whole is no step and no tick; one that only begins is', () => {
  expect(hollow(thought('done', ''))).toBe(true)
  expect(counts(thought('done', ''))).toBe(false)
  expect(hollow(thought('live', ''))).toBe(false)
  expect(counts(thought('done', 'Let me see.'))).toBe(true)
})
