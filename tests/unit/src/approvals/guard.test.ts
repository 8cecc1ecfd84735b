import { describe, expect, test } from 'vitest'
import { argumentsOf, diffLines } from '../../../../src/approvals/command'
import { GUARD_MS, makeGuard } from '../../../../src/approvals/guard'

describe('the guard of a card', () => {
  test('counts no press in the first moment, and starts anew for the next request', () => {
    let now = 0
    const guard = makeGuard(() => now)
    expect(guard.armed()).toBe(false)
    guard.shown()
    now = GUARD_MS - 1
    expect(guard.armed()).toBe(false)
    now = GUARD_MS
    expect(guard.armed()).toBe(true)
    guard.shown()
    expect(guard.armed()).toBe(false)
  })
})

describe('what a card shows', () => {
  test('a command breaks between arguments only, and loses nothing', () => {
    const command = `find . -name "a file.txt" -exec echo 'two  words' {} \\;  -print`
    expect(argumentsOf(command)).toContain('"a file.txt"')
    expect(argumentsOf(command).join('')).toBe(command)
  })
  test('lines of a script stay lines', () => {
    const script = 'cd src\n  make "a\nb" all\n'
    expect(argumentsOf(script)).toEqual(['cd', ' ', 'src', '\n', ' ', ' ', 'make', ' ', '"a\nb"', ' ', 'all', '\n'])
    expect(argumentsOf(script).join('')).toBe(script)
  })
  test('lines of a change are told apart', () => {
    expect(diffLines('--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same\n').map((line) => line.kind)).toEqual(['h', 'h', 'h', 'd', 'a', ''])
  })
})
