/**
 * The one owner of the scroll position (DESIGN §7, spec/frontend.md §2.11). It follows the end while the reader is there; everywhere else
 * the first thing in sight keeps its place, whatever grows, shrinks or is put in above it. Nothing else writes `scrollTop`.
 */
export interface ScrollOwner {
  /** Goes to the end and follows it. */
  toEnd: () => void
  /** Brings an element to the head of the view; the end is not followed until the reader goes there. */
  toElement: (element: Element) => void
  following: () => boolean
  /** Called before something is put in outside of a frame: where the reader went since the last scroll event must be known first. */
  note: () => void
  /** True when what is read stands inside the element. */
  readsIn: (element: Element) => boolean
  /** Called once the content changed size, after the place was kept, and after each scroll. */
  stop: () => void
}

export interface ScrollParts {
  scroller: HTMLElement
  /** What grows. Its children, and theirs, are what the place is kept by. */
  content: HTMLElement
  /** Height that lies over the head of the view, px. */
  covered: () => number
  onChange: () => void
}

/** Nearer to the end than this the reader is taken to want it, px. */
const NEAR = 80
/** An upward move of the finger or the wheel beyond this lets go of the end, px. */
const AWAY = 4

export function makeScrollOwner({ scroller, content, covered, onChange }: ScrollParts): ScrollOwner {
  let following = true
  /** What was in sight at the head, and how far below the top of the scroller it began. */
  let anchor: { element: Element; top: number } | null = null
  /** Where we left the scroller; a scroll event at this place is our own. */
  let left = 0
  let nearSeen = false
  let held = false
  let touchY = 0

  const toGo = () => scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop
  const write = (top: number) => {
    scroller.scrollTop = top
    left = scroller.scrollTop
  }
  const findAnchor = () => {
    const from = scroller.getBoundingClientRect().top
    // What is covered is not read; but places are measured from the scroller, because the cover comes and goes.
    const head = from + covered()
    anchor = null
    let within: Element = content
    // Turn, part, block: deep enough that a long answer is held by the paragraph that is read.
    for (let depth = 0; depth < 5; depth++) {
      const child = firstBelow(within.children, head)
      if (!child) break
      const top = child.getBoundingClientRect().top
      anchor = { element: child, top: top - from }
      // A child that begins in sight is held itself; one that began above is held by what of it is in sight.
      if (top >= head || child.childElementCount === 0 || /^(P|H\d|TABLE|PRE|LI|BUTTON|FIGURE)$/.test(child.tagName)) break
      within = child
    }
  }
  const keepPlace = () => {
    if (following) {
      if (!held && toGo() > 0) write(scroller.scrollHeight)
    } else if (anchor?.element.isConnected) {
      const moved = anchor.element.getBoundingClientRect().top - scroller.getBoundingClientRect().top - anchor.top
      if (Math.abs(moved) >= 0.5) write(scroller.scrollTop + moved)
    } else findAnchor()
    onChange()
  }
  const letGo = () => {
    if (!following) return
    following = false
    nearSeen = false
    findAnchor()
    onChange()
  }

  const onScroll = () => {
    const top = scroller.scrollTop
    if (Math.abs(top - left) < 1) return
    const up = top < left
    left = top
    const end = toGo()
    if (following) {
      if (up && end > AWAY) following = false
    } else if (!up && (end <= 2 || (end <= NEAR && nearSeen))) following = true
    nearSeen = end <= NEAR && !up
    if (!following) findAnchor()
    onChange()
  }
  const onWheel = (event: WheelEvent) => {
    if (event.deltaY < -AWAY && scroller.scrollTop > 0) letGo()
  }
  const onTouchStart = (event: TouchEvent) => {
    touchY = event.touches[0]?.clientY ?? 0
  }
  const onTouchMove = (event: TouchEvent) => {
    if ((event.touches[0]?.clientY ?? 0) - touchY > 8 && scroller.scrollTop > 0) letGo()
  }
  // A press on the bar itself: the place is the reader's until it ends.
  const onPress = (event: PointerEvent) => {
    held = event.target === scroller && event.offsetX > scroller.clientWidth
  }
  const onRelease = () => {
    if (!held) return
    held = false
    following = toGo() <= NEAR
    keepPlace()
  }

  const observer = new ResizeObserver(keepPlace)
  observer.observe(content)
  observer.observe(scroller)
  const passive = { passive: true }
  scroller.addEventListener('scroll', onScroll, passive)
  scroller.addEventListener('wheel', onWheel, passive)
  scroller.addEventListener('touchstart', onTouchStart, passive)
  scroller.addEventListener('touchmove', onTouchMove, passive)
  scroller.addEventListener('pointerdown', onPress, passive)
  window.addEventListener('pointerup', onRelease, passive)

  return {
    toEnd: () => {
      following = true
      anchor = null
      write(scroller.scrollHeight)
      onChange()
    },
    toElement: (element) => {
      following = false
      const head = scroller.getBoundingClientRect().top + covered()
      write(scroller.scrollTop + element.getBoundingClientRect().top - head - 16)
      findAnchor()
      onChange()
    },
    following: () => following,
    note: onScroll,
    readsIn: (element) => !following && anchor !== null && element.contains(anchor.element),
    stop: () => {
      observer.disconnect()
      scroller.removeEventListener('scroll', onScroll)
      scroller.removeEventListener('wheel', onWheel)
      scroller.removeEventListener('touchstart', onTouchStart)
      scroller.removeEventListener('touchmove', onTouchMove)
      scroller.removeEventListener('pointerdown', onPress)
      window.removeEventListener('pointerup', onRelease)
    },
  }
}

/** The first of elements that stand below each other whose end lies below `y`; halving, so that few are measured. */
export function firstBelow(elements: HTMLCollection, y: number): Element | null {
  let low = 0
  let high = elements.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (elements[middle]!.getBoundingClientRect().bottom > y) high = middle
    else low = middle + 1
  }
  return elements[low] ?? null
}
