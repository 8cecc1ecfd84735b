import { createMemo, createSignal, createUniqueId, For, Show } from 'solid-js'
import { t } from '../../i18n/settings'
import type { Connection, ModelsStatus, Preset, ProbeAnswer, SetupAnswer } from '../../server/contract/models'
import { reasonOf } from '../shell/reason'
import { Button } from '../ui/button'
import { Choice } from '../ui/choice'
import { Field } from '../ui/field'
import { Icon } from '../ui/icon'
import { errorsOf, failureText, startOf, type FormErrors, type FormValues } from './form-state'
import type { ConnectActions } from './port'

export interface FormProps {
  status: ModelsStatus
  actions: ConnectActions
  titled: string
  onConnected: (answer: SetupAnswer) => void
}

/** The one short form: who, where, with which key, which model. *Check* tries it without keeping it and brings the list of models. */
export function ConnectForm(props: FormProps) {
  const id = createUniqueId()
  const presets = () => props.status.presets.filter((preset) => preset.kind !== 'scripted')
  const [chosen, setChosen] = createSignal('')
  const preset = createMemo<Preset | undefined>(() => presets().find((one) => one.id === chosen()))
  const kept = createMemo<Connection | undefined>(() => props.status.connections.find((one) => one.id === chosen() && one.source !== 'local'))
  const [values, setValues] = createSignal<FormValues>({ address: '', key: '', model: '' })
  const [errors, setErrors] = createSignal<FormErrors>({})
  const [probe, setProbe] = createSignal<ProbeAnswer | { ok: 'no'; reason: string } | null>(null)
  const [doing, setDoing] = createSignal<'nothing' | 'check' | 'save'>('nothing')
  const [failed, setFailed] = createSignal('')

  const local = (preset: Preset) => props.status.local.find((server) => server.id === preset.id)
  const choose = (value: string) => {
    setChosen(value)
    const found = presets().find((one) => one.id === value)
    if (found) setValues(startOf(found, props.status.connections.find((one) => one.id === value && one.source !== 'local')))
    setErrors({})
    setProbe(null)
    setFailed('')
  }
  const put = (part: Partial<FormValues>) => {
    setValues((before) => ({ ...before, ...part }))
    setErrors({})
    setFailed('')
    if (part.address !== undefined || part.key !== undefined) setProbe(null)
  }
  const input = (of: Preset) => ({
    provider: of.id,
    ...(of.editable ? { base_url: values().address.trim() } : {}),
    ...(values().key.trim() ? { api_key: values().key.trim() } : {}),
  })
  const check = async (of: Preset) => {
    const wrong = errorsOf(values(), of, kept(), false)
    setErrors(wrong)
    if (Object.keys(wrong).length) return
    setDoing('check')
    try {
      const answer = await props.actions.probe(input(of))
      setProbe(answer)
      if (answer.ok && answer.models.length && !values().model) setValues((before) => ({ ...before, model: answer.models[0]!.id }))
    } catch (error) {
      setProbe({ ok: 'no', reason: reasonOf(error) })
    } finally {
      setDoing('nothing')
    }
  }
  const save = async (of: Preset) => {
    const wrong = errorsOf(values(), of, kept(), true)
    setErrors(wrong)
    if (Object.keys(wrong).length) return
    setDoing('save')
    setFailed('')
    try {
      const answer = await props.actions.setup({ ...input(of), model: values().model.trim() })
      setValues((before) => ({ ...before, key: '' }))
      props.onConnected(answer)
    } catch (error) {
      setFailed(t('connect.failed', { reason: reasonOf(error) }))
    } finally {
      setDoing('nothing')
    }
  }
  const listed = () => {
    const answer = probe()
    return answer && answer.ok === true ? answer.models : []
  }
  return (
    <section aria-labelledby={`${id}-t`}>
      <h2 class="lab" id={`${id}-t`}>
        {props.titled}
      </h2>
      <Choice
        class="prov"
        labelledby={`${id}-t`}
        value={chosen()}
        onChange={choose}
        options={presets().map((one) => ({
          value: one.id,
          shown: (
            <>
              <b>{one.display_name}</b>
              <span class="meta">{aboutOf(one, local(one)?.models.length)}</span>
            </>
          ),
        }))}
      />
      <Show when={preset()} keyed>
        {(of) => (
          <form
            class="cform"
            onSubmit={(submit) => {
              submit.preventDefault()
              void save(of)
            }}
          >
            <Show when={of.editable}>
              <Field
                label={t('connect.form.address')}
                type="url"
                value={values().address}
                placeholder={of.base_url || 'https://'}
                hint={t('connect.form.address.hint')}
                error={errors().address}
                onInput={(address) => put({ address })}
              />
            </Show>
            <Field
              label={of.key === 'needed' ? t('connect.form.key') : t('connect.form.key.optional')}
              type="password"
              autocomplete="off"
              value={values().key}
              hint={kept()?.has_key ? t('connect.form.key.kept') : undefined}
              error={errors().key}
              onInput={(key) => put({ key })}
              after={
                <Button large busy={doing() === 'check'} disabled={doing() !== 'nothing'} onPress={() => void check(of)}>
                  {t('connect.form.check')}
                </Button>
              }
            />
            <Said answer={probe()} />
            <Show
              when={listed().length > 0}
              fallback={<Field label={t('connect.form.model')} value={values().model} hint={t('connect.form.model.hint')} error={errors().model} onInput={(model) => put({ model })} />}
            >
              <div class="field">
                <label class="lab" for={`${id}-m`}>
                  {t('connect.form.model')}
                </label>
                <div class="f l">
                  <select id={`${id}-m`} value={values().model} onChange={(change) => put({ model: change.currentTarget.value })}>
                    <For each={listed()}>{(model) => <option value={model.id} selected={model.id === values().model}>{model.label || model.id}</option>}</For>
                  </select>
                </div>
              </div>
            </Show>
            <Show when={failed()}>
              <p class="said bad" role="alert">
                <Icon name="circle-alert" size="s" />
                {failed()}
              </p>
            </Show>
            <div class="acts">
              <Button kind="primary" type="submit" large busy={doing() === 'save'} disabled={doing() !== 'nothing'}>
                {doing() === 'save' ? t('connect.form.saving') : t('connect.form.save')}
              </Button>
            </div>
          </form>
        )}
      </Show>
    </section>
  )
}

function Said(props: { answer: ProbeAnswer | { ok: 'no'; reason: string } | null }) {
  return (
    <Show when={props.answer} keyed>
      {(answer) =>
        answer.ok === true ? (
          <p class="said ok" role="status">
            <Icon name="check" size="s" />
            {answer.listed && answer.models.length ? t('connect.probe.ok', { n: answer.models.length }) : t('connect.probe.okNoList')}
          </p>
        ) : (
          <p class="said bad" role="alert">
            <Icon name="circle-alert" size="s" />
            <span>
              {t('connect.probe.failed', { reason: answer.ok === 'no' ? answer.reason : failureText(answer.error) })}
              <Show when={answer.ok === false && answer.error.words}>
                <span class="own">{(answer as { error: { words?: string } }).error.words}</span>
              </Show>
            </span>
          </p>
        )
      }
    </Show>
  )
}

/** The second line of a preset: what was found of it on this machine, else what it is. */
function aboutOf(preset: Preset, found: number | undefined): string {
  if (found !== undefined) return t('connect.found.models', { n: found })
  const known: Record<string, () => string> = {
    openrouter: () => t('connect.preset.openrouter.text'),
    anthropic: () => t('connect.preset.anthropic.text'),
    'openai-api': () => t('connect.preset.openai.text'),
    custom: () => t('connect.preset.custom.text'),
  }
  return known[preset.id]?.() ?? (preset.key === 'needed' ? t('connect.preset.key') : t('connect.preset.local.text'))
}
