import { t } from '../../i18n/settings'
import type { Connection, ConnectionFailure, Preset } from '../../server/contract/models'

/** What stands in the form. */
export interface FormValues { address: string; key: string; model: string }

export interface FormErrors { address?: string; key?: string; model?: string }

/** A preset with nothing typed yet; what a kept connection of the same id knows is offered again. */
export function startOf(preset: Preset, kept: Connection | undefined): FormValues {
  return { address: kept?.base_url || preset.base_url, key: '', model: kept?.model ?? '' }
}

/** What is missing before a check (`model` is not needed) or before connecting. Empty when all is well. */
export function errorsOf(values: FormValues, preset: Preset, kept: Connection | undefined, forModel: boolean): FormErrors {
  const errors: FormErrors = {}
  if (preset.editable && !/^https?:\/\/[^\s/]+/i.test(values.address.trim())) errors.address = t('connect.form.wrong.address')
  if (preset.key === 'needed' && !values.key.trim() && !kept?.has_key) errors.key = t('connect.form.wrong.key')
  if (forModel && !values.model.trim()) errors.model = t('connect.form.wrong.model')
  return errors
}

/** Why a check failed, in our words; the server's own stand beside them. */
export function failureText(failure: ConnectionFailure): string {
  if (failure.kind === 'http') return t('connect.fail.http', { status: failure.status ?? 0 })
  return {
    address: t('connect.form.wrong.address'),
    auth: t('connect.fail.auth'),
    key: t('connect.fail.auth'),
    network: t('connect.fail.network'),
    timeout: t('connect.fail.timeout'),
    not_a_model_server: t('connect.fail.not_a_model_server'),
  }[failure.kind]
}
