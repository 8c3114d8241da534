import { property } from '../property/property.js'
import { hostAlone, integer, path, port, text } from '../property/types.js'

/** TURN servers for the media of clients, and the database that locates clients. */
export const CLIENTS = {
  TURN_IP: property('master', hostAlone, {
    default: '',
    meaning: "Public address of the service's own TURN server; empty: no TURN server",
  }),
  TURN_PORT: property('master', port, {
    default: 3478,
    meaning: "Port of the service's own TURN server, UDP and TCP",
  }),
  TURN_SHARED_SECRET_KEY: property('master', text, {
    default: '',
    secret: true,
    meaning: "`static-auth-secret` of the service's own TURN server; mandatory with TURN_IP",
  }),
  TURN_CREDENTIALS_TTL: property('master', integer(60, 31_536_000), {
    default: 86_400,
    unit: 's',
    meaning:
      'Validity of the TURN credentials that a client gets when it joins and at each ICE restart; existing relays stay open afterwards',
  }),
  SERVICE_GEOIP_DATABASE: property('master', path, {
    default: '',
    meaning: 'City database in MMDB format, used for the `location` of connections; empty: `location` is `unknown`',
  }),
}
