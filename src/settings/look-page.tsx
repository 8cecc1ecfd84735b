import { For, type JSX } from 'solid-js'
import { t, type MessageKey } from '../../i18n/settings'
import { Choice, Switch } from '../ui/choice'
import { createMedia } from '../ui/media'
import { SKINS, type Look } from './look'

/** Theme, colours, text size, contrast, motion: applied and kept at once, on this device alone. */
export function LookPage(props: { look: Look; onChange: (part: Partial<Look>) => void; children?: JSX.Element }) {
  const more = createMedia('(prefers-contrast: more)')
  const less = createMedia('(prefers-reduced-motion: reduce)')
  return (
    <section class="set" aria-label={t('set.look')}>
      <div class="it st">
        <b id="set-mode">{t('set.mode')}</b>
        <Choice
          class="modes"
          itemClass="mode"
          labelledby="set-mode"
          value={props.look.theme}
          onChange={(theme) => props.onChange({ theme })}
          options={[
            { value: 'light' as const, shown: <Preview kind="li" name={t('set.mode.light')} /> },
            { value: 'dark' as const, shown: <Preview kind="da" name={t('set.mode.dark')} /> },
            { value: 'system' as const, shown: <Preview kind="both" name={t('set.mode.system')} /> },
          ]}
        />
      </div>
      <div class="it st">
        <b id="set-skin">{t('set.skin')}</b>
        <Choice
          class="skins"
          itemClass="skin"
          labelledby="set-skin"
          value={props.look.skin}
          onChange={(skin) => props.onChange({ skin })}
          options={SKINS.map((skin) => ({
            value: skin,
            shown: (
              <>
                <i />
                {(t as (key: MessageKey) => string)(`set.skin.${skin}`)}
              </>
            ),
          }))}
        />
      </div>
      <div class="it wr">
        <div>
          <b id="set-text">{t('set.text')}</b>
          <p class="hint">{t('set.text.hint')}</p>
        </div>
        <Choice
          class="seg sz"
          labelledby="set-text"
          value={props.look.text}
          onChange={(text) => props.onChange({ text })}
          options={(['s', 'm', 'l', 'xl'] as const).map((text) => ({
            value: text,
            name: (t as (key: MessageKey) => string)(`set.text.${text}`),
            shown: <span aria-hidden="true">Aa</span>,
          }))}
        />
      </div>
      <div class="it">
        <div>
          <b id="set-contrast">{t('set.contrast')}</b>
          <p class="hint">{t('set.contrast.hint')}</p>
        </div>
        <Switch on={props.look.contrast ? props.look.contrast === 'more' : more()} labelledby="set-contrast" onChange={(on) => props.onChange({ contrast: on ? 'more' : 'normal' })} />
      </div>
      <div class="it">
        <div>
          <b id="set-motion">{t('set.motion')}</b>
          <p class="hint">{t('set.follows')}</p>
        </div>
        <Switch on={props.look.motion ? props.look.motion === 'less' : less()} labelledby="set-motion" onChange={(on) => props.onChange({ motion: on ? 'less' : 'full' })} />
      </div>
    </section>
  )
}

function Preview(props: { kind: 'li' | 'da' | 'both'; name: string }) {
  return (
    <>
      <span class={`pv ${props.kind === 'da' ? 'da' : 'li'}`} aria-hidden="true">
        <Lines />
        {props.kind === 'both' ? (
          <span class="pv da half">
            <Lines />
          </span>
        ) : null}
      </span>
      {props.name}
    </>
  )
}

function Lines() {
  return (
    <>
      <span class="a">
        <For each={[1, 2, 3]}>{() => <i />}</For>
      </span>
      <span class="z">
        <i class="w" />
        <i class="k" />
        <i />
        <i class="c" />
      </span>
    </>
  )
}
