import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { NetworkInterfaceInfo } from 'node:os'
import type { NodeConfig } from '@session-service/config'
import { isErrno, messageOf } from '@session-service/server-kit'
import { isAnnounceable, isPublicAddress } from './public-address.js'
import type { SourceState } from './sources.js'

export type AddressSource = NodeConfig['MEDIA_NODE_ADDRESS_SOURCES'][number]
export type Interfaces = Readonly<Record<string, NetworkInterfaceInfo[] | undefined>>

const UNSPECIFIED = new Set(['0.0.0.0', '::'])

const address = (text: string): SourceState => ({ kind: 'address', address: text })
const absent = (reason: string): SourceState => ({ kind: 'absent', reason })
const pending = (reason: string): SourceState => ({ kind: 'pending', reason })

/** The state of a source at the start of the process. Only `file` and `stun` change later. */
export function initialState(source: AddressSource, config: NodeConfig, interfaces: Interfaces): SourceState {
  const {
    MEDIA_NODE_ANNOUNCED_ADDRESS: value,
    MEDIA_NODE_HOST_IP: hostIp,
    MEDIA_NODE_ANNOUNCED_ADDRESS_FILE: file,
    MEDIA_NODE_STUN_SERVER: stun,
  } = config
  switch (source) {
    case 'value':
      return value ? address(value) : absent('MEDIA_NODE_ANNOUNCED_ADDRESS is empty')
    case 'host-ip':
      return hostIp ? address(hostIp) : absent('MEDIA_NODE_HOST_IP is empty')
    case 'public-host-ip':
      if (!hostIp) return absent('MEDIA_NODE_HOST_IP is empty')
      return isPublicAddress(hostIp) ? address(hostIp) : absent(`MEDIA_NODE_HOST_IP ${hostIp} is not a public address`)
    case 'file':
      return file ? pending('it was not read yet') : absent('MEDIA_NODE_ANNOUNCED_ADDRESS_FILE is empty')
    case 'stun':
      return stun ? pending('the server was not asked yet') : absent('MEDIA_NODE_STUN_SERVER is empty')
    case 'interface':
      return address(ownAddress(config.MEDIA_NODE_IP, interfaces))
  }
}

/** A node that listens on all interfaces is reached at its first external IPv4 address, or else at loopback. */
function ownAddress(listenIp: string, interfaces: Interfaces): string {
  if (isIP(listenIp) && !UNSPECIFIED.has(listenIp)) return listenIp
  const addresses = Object.values(interfaces).flatMap((of) => of ?? [])
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1'
}

/** Reads the file again: the kubelet replaces it when the annotation of the pod changes. */
export async function readAddressFile(path: string): Promise<SourceState> {
  try {
    const text = (await readFile(path, 'utf8')).trim()
    if (text === '') return pending(`${path} is empty: the pod has no annotation with an address`)
    return isAnnounceable(text)
      ? address(text)
      : pending(`${path} contains no address or host name: ${JSON.stringify(text.slice(0, 80))}`)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return pending(`${path} does not exist`)
    return pending(`${path} cannot be read: ${messageOf(error)}`)
  }
}
