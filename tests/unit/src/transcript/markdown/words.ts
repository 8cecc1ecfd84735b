import type { MarkdownWords } from '../../../../../src/transcript/markdown/render'

/** Words for tests; any will do, as long as they are told apart. */
export const words: MarkdownWords = {
  copy: 'Copy',
  showAll: (n) => `Show all ${n} lines`,
  showLess: 'Show less',
  picture: (alt) => `Picture: ${alt}`,
  table: (columns) => `Table: ${columns}`,
  code: (language) => `Code ${language}`,
  taskDone: 'Done',
  taskOpen: 'Open',
}
