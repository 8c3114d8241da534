import { RestClient, type RestAnswer } from '@session-service/rest-client'

/** The value of the Authorization header of REST calls. */
export const basicAuth = (secret: string, user = 'SERVICEAPP'): string =>
  `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`

/** The REST client without retries, so that a test gets each answer. */
export class ServiceApi extends RestClient {
  constructor(
    readonly baseUrl: string,
    readonly secret: string,
  ) {
    super({ url: baseUrl, secret, retries: 0 })
  }

  /** Returns any answer. `path` is relative to `/service/api`, or absolute when it starts with `/service`. */
  request(method: string, path: string, body?: unknown): Promise<RestAnswer> {
    return this.transport.send({ method, path: path.startsWith('/service') ? path : `/service/api${path}`, body })
  }
}
