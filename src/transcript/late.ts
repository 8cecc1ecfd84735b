/**
 * Parts of a transcript that most of them do not hold, in one file that is fetched when the first of them is shown (DESIGN §8: what the
 * first paint loads has a limit).
 */
export { Asked } from './decision'
export { Divider } from './divider'
export { EditQuestion } from './edit-question'
export { Ending, failureOf, Reattached } from './ending'
export { Notice } from './notice'
export { Plan } from './plan'
export { Sent } from './sent'
export { Stopping } from './stopping'
export { ToolDetail } from './tool-detail'
export { Word } from './word'
