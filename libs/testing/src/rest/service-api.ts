import { RestClient, type RestAnswer } from '@session-service/rest-client'

/** The REST API as a server-side application uses it; no call is repeated, so that a test sees each answer. */
export class ServiceApi extends RestClient {
  constructor(
    readonly baseUrl: string,
    readonly secret: string,
  ) {
    super({ url: baseUrl, secret, retries: 0 })
  }

  /** Whatever the answer is; `path` below `/service/api`, or from the root when it begins with `/service`. */
  request(method: string, path: string, body?: unknown): Promise<RestAnswer> {
    return this.transport.send({ method, path: path.startsWith('/service') ? path : `/service/api${path}`, body })
  }
}
