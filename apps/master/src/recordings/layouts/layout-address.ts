import { ServiceError } from '@session-service/contract'

/** A page of the folder of layouts, or of a host that the operator has allowed. */
export type LayoutAddress = { kind: 'own'; folder: string } | { kind: 'other'; url: string }

/** @throws ServiceError INVALID for an address that the operator has not allowed */
export function layoutAddress(customLayout: string, allowedHosts: readonly string[]): LayoutAddress {
  if (!customLayout.includes(':')) return { kind: 'own', folder: customLayout.replace(/\/+$/, '') }
  if (!URL.canParse(customLayout)) throw new ServiceError('INVALID', 'customLayout: is no address')
  const { protocol, username, password, host, href } = new URL(customLayout)
  if (!['http:', 'https:'].includes(protocol) || username !== '' || password !== '') {
    throw new ServiceError('INVALID', 'customLayout: must be an http or https address without credentials')
  }
  if (allowedHosts.some((allowed) => allowed.toLowerCase() === host)) return { kind: 'other', url: href }
  throw new ServiceError('INVALID', `customLayout: the host ${host} is none of SERVICE_RECORDING_LAYOUT_HOSTS`)
}
