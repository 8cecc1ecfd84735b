import { t } from '../../i18n'
import type { MarkdownWords } from './markdown/render'

/** The words that stand in drawn Markdown, in the page's language. */
export const markdownWords: MarkdownWords = {
  copy: t('md.copy'),
  showAll: (n) => t('md.showAll', { n }),
  showLess: t('md.showLess'),
  picture: (name) => (name ? t('md.picture', { name }) : t('md.pictureNoName')),
  table: (columns) => t('md.table', { columns }),
  code: (language) => (language ? t('md.code', { language }) : t('md.codePlain')),
  taskDone: t('md.taskDone'),
  taskOpen: t('md.taskOpen'),
}
