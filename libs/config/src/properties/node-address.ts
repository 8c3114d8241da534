import { endpoint } from '../property/endpoint.js'
import { destination, ipAddress } from '../property/network.js'
import { property, type Known } from '../property/property.js'
import { integer, nonEmpty, namesOf, path } from '../property/types.js'

const SOURCES = ['value', 'public-host-ip', 'file', 'stun', 'host-ip', 'interface'] as const

/** A machine without a file or STUN server has nothing to wait for: its own address is the best one that is known. */
const sourcesFor = ({ values }: Known): (typeof SOURCES)[number][] =>
  values.MEDIA_NODE_ANNOUNCED_ADDRESS_FILE === '' && values.MEDIA_NODE_STUN_SERVER === ''
    ? ['value', 'host-ip', 'interface']
    : ['value', 'public-host-ip', 'file', 'stun']

/** The address to which clients send media. */
export const NODE_ADDRESS = {
  MEDIA_NODE_IP: property('node', ipAddress, { default: '0.0.0.0', meaning: 'Listen address of media' }),
  MEDIA_NODE_ANNOUNCED_ADDRESS: property('node', destination, {
    default: '',
    meaning: 'Address that clients send media to (source `value`); empty: another source of MEDIA_NODE_ADDRESS_SOURCES',
  }),
  MEDIA_NODE_HOST_IP: property('node', destination, {
    default: '',
    meaning:
      'Address of the machine (sources `public-host-ip`, which counts only if the internet can reach it, and `host-ip`, which always counts); in Kubernetes `status.hostIP`',
  }),
  MEDIA_NODE_ANNOUNCED_ADDRESS_FILE: property('node', path, {
    default: '',
    meaning:
      'File with an address or a host name (source `file`), read again every second; in Kubernetes the annotation `session-service/announced-address` of the pod',
  }),
  MEDIA_NODE_STUN_SERVER: property('node', endpoint, {
    default: '',
    meaning: 'STUN server (source `stun`), which is asked for the public address, over UDP; default port 3478',
  }),
  MEDIA_NODE_ADDRESS_SOURCES: property(
    'node',
    nonEmpty(namesOf('address source', SOURCES), 'must name at least one source'),
    {
      derived: {
        text: '`value`, `public-host-ip`, `file`, `stun` if a file or a STUN server is given, else `value`, `host-ip`, `interface`',
        from: sourcesFor,
      },
      meaning:
        'Sources of the announced address: the first one that gives an address wins, and the node is not ready until one does. `interface` is MEDIA_NODE_IP when it is a specific address, else the first external IPv4 address of the machine',
    },
  ),
  MEDIA_NODE_ADDRESS_WAIT: property('node', integer(0, 600), {
    default: 5,
    unit: 's',
    meaning: 'Time at the start during which a later source waits for an earlier one that has no address yet',
  }),
}
