/** What a press of Enter means in the box. */
export interface EnterPress { key: string; shiftKey: boolean; ctrlKey: boolean; metaKey: boolean; altKey: boolean; isComposing: boolean; keyCode: number }

/**
 * True when this press sends. With fingers Enter is a new line, because their keyboards have no Shift at hand; Ctrl or Cmd Enter sends
 * everywhere. Enter that ends the composition of a Japanese, Chinese or Korean word never sends (229 is what older engines report for it).
 */
export function sends(press: EnterPress, fingers: boolean): boolean {
  if (press.key !== 'Enter' || press.isComposing || press.keyCode === 229 || press.altKey) return false
  if (press.ctrlKey || press.metaKey) return true
  return !press.shiftKey && !fingers
}
