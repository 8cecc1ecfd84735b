import { en, t } from '../../i18n'

/** How hard a model is to think, in words; one that this build does not know by its own name. */
export function effortName(effort: string): string {
  const key = `composer.effort.${effort}`
  return key in en ? t(key as 'composer.effort.low') : effort
}
