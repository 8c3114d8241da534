export interface BannerFacts {
  page: string | undefined
  /** Base URL of the service, without a path. */
  service: string
  secret: string
  seconds: number
  nodes: number
}

/** The text that the launcher prints when the service is ready: addresses, credentials and an example. */
export function banner({ page, service, secret, seconds, nodes }: BannerFacts, bold: (text: string) => string): string {
  const api = `${service.replace(/\/$/, '')}/service/api`
  const node = nodes === 1 ? 'one media node' : `${nodes} media nodes`
  return [
    '',
    `  ${bold('Session Service is ready')} (one master, ${node}, ${seconds.toFixed(1)} s)`,
    '',
    ...(page === undefined ? [] : [`  Page    ${bold(page)}`]),
    `  API     ${bold(api)}`,
    `  User    SERVICEAPP`,
    `  Secret  ${bold(secret)}`,
    '',
    `  curl -u SERVICEAPP:${secret} -H 'Content-Type: application/json' -d '{}' ${api}/sessions`,
    '',
    '  Ctrl-C stops all processes.',
    '',
  ].join('\n')
}
