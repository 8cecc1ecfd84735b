/** Keeps the beginning and the end of what is printed; memory is bounded whatever comes. Units are UTF-16. */
export function makeTail(most: number): { push(text: string): void; tail(limit: number): { text: string; cut: boolean }; both(): string } {
  const half = Math.floor(most / 2)
  let head = ''
  let end = ''
  let dropped = 0
  return {
    push: (text) => {
      const room = half - head.length
      if (room > 0) {
        head += text.slice(0, room)
        text = text.slice(room)
      }
      end += text
      if (end.length > half * 2) {
        dropped += end.length - half
        end = end.slice(-half)
      }
    },
    tail: (limit) => {
      const all = dropped > 0 || end.length >= limit ? end : head + end
      const text = all.slice(-limit)
      return { text: /^[\uDC00-\uDFFF]/.test(text) ? text.slice(1) : text, cut: dropped > 0 || head.length + end.length > limit }
    },
    both: () => {
      const rest = end.slice(-half)
      const gone = dropped + end.length - rest.length
      return gone > 0 ? `${head}\n… ${gone} characters left out …\n${rest}` : head + rest
    },
  }
}
