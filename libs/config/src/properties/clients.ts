import { property } from '../property.js'
import { hostAlone, integer, path, port, text } from '../types.js'

/** Which way clients' media goes, and what is known of where they are. */
export const CLIENTS = {
  TURN_IP: property('master', hostAlone, {
    default: '',
    meaning: "Address of the service's own TURN server as clients reach it; empty means there is none",
  }),
  TURN_PORT: property('master', port, {
    default: 3478,
    meaning: "Port of the service's own TURN server, UDP and TCP",
  }),
  TURN_SHARED_SECRET_KEY: property('master', text, {
    default: '',
    secret: true,
    meaning: "What the service's own TURN server knows as `static-auth-secret`; mandatory with TURN_IP",
  }),
  TURN_CREDENTIALS_TTL: property('master', integer(60, 31_536_000), {
    default: 86_400,
    unit: 's',
    meaning:
      'How long a client may open relays with the TURN credentials it got when it joined, or when its connection was last restarted',
  }),
  SERVICE_GEOIP_DATABASE: property('master', path, {
    default: '',
    meaning: 'City database in MMDB format that gives connections their `location`; empty means it is `unknown`',
  }),
}
