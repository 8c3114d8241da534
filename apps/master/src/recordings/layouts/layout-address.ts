import { ServiceError } from '@session-service/contract'

/** A page in the folder of layouts (`own`), or on a host that the operator has allowed. */
export type LayoutAddress = { kind: 'own'; folder: string } | { kind: 'other'; url: string }

/** @throws ServiceError INVALID for a URL that the operator has not allowed */
export function layoutAddress(customLayout: string, allowedHosts: readonly string[]): LayoutAddress {
  if (!customLayout.includes(':')) return { kind: 'own', folder: customLayout.replace(/\/+$/, '') }
  if (!URL.canParse(customLayout)) throw new ServiceError('INVALID', 'customLayout: is not a valid URL')
  const { protocol, username, password, host, href } = new URL(customLayout)
  if (!['http:', 'https:'].includes(protocol) || username !== '' || password !== '') {
    throw new ServiceError('INVALID', 'customLayout: must be an http or https URL without credentials')
  }
  if (allowedHosts.some((allowed) => allowed.toLowerCase() === host)) return { kind: 'other', url: href }
  throw new ServiceError('INVALID', `customLayout: the host ${host} is not in SERVICE_RECORDING_LAYOUT_HOSTS`)
}
