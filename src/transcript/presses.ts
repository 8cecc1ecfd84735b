import { t } from '../../i18n'
import type { Surroundings } from './surroundings'

/** What a press inside drawn Markdown does; one listener for all code blocks. */
export function onPress(press: MouseEvent, { actions, announce }: Pick<Surroundings, 'actions' | 'announce'>): void {
  const button = press.target instanceof Element ? press.target.closest<HTMLElement>('[data-do]') : null
  const figure = button?.closest('figure')
  if (!button || !figure) return
  if (button.dataset.do === 'copy-code') {
    void actions.copy(figure.querySelector('code')?.textContent ?? '').then((ok) => {
      announce(ok ? t('answer.copied') : t('answer.copyFailed'), 'polite')
      if (!ok) return
      button.classList.add('tx-done')
      setTimeout(() => button.classList.remove('tx-done'), 1500)
    })
  }
  if (button.dataset.do === 'fold-code') {
    const open = figure.classList.toggle('tx-unfolded')
    button.setAttribute('aria-expanded', String(open))
    button.textContent = (open ? button.dataset.less : button.dataset.more) ?? ''
  }
}
