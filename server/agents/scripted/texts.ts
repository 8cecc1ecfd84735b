/** The n-th delta of `[[deltas:…]]`: ten units, and a new paragraph now and then. */
export function deltaText(i: number): string {
  const word = `w${i.toString(36)}`.padEnd(8, 'a')
  return i % 40 === 39 ? word + '.\n\n' : word.slice(0, 8) + (i % 10 === 9 ? '. ' : ', ')
}

/** The n-th piece of `[[size:…]]`: a line of sixty-four units. */
export function sizeText(i: number): string {
  return `${i.toString().padStart(6, '0')} `.padEnd(63, 'the quick brown fox jumps over the lazy dog ') + '\n'
}
