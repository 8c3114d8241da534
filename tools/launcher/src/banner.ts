interface BannerFacts {
  page: string | undefined
  /** Base URL of the service, without a path. */
  service: string
  /** Whether the master serves the dashboard. */
  hasDashboard: boolean
  secret: string
  seconds: number
  nodes: number
  /** The language of live captions; undefined without them. */
  captions: string | undefined
}

/** The text that the launcher prints when the service is ready: addresses, credentials and an example. */
export function banner(facts: BannerFacts, bold: (text: string) => string): string {
  const { page, hasDashboard, secret, seconds, nodes, captions } = facts
  const service = `${facts.service.replace(/\/$/, '')}/service`
  const api = `${service}/api`
  const node = nodes === 1 ? 'one media node' : `${nodes} media nodes`
  return [
    '',
    `  ${bold('Session Service is ready')} (one master, ${node}, ${seconds.toFixed(1)} s)`,
    '',
    ...(page === undefined ? [] : [`  Page       ${bold(page)}`]),
    ...(captions === undefined ? [] : [`  Speech     live captions are on: ${bold(captions)}`]),
    ...(hasDashboard ? [`  Dashboard  ${bold(`${service}/dashboard/`)}`] : []),
    `  API        ${bold(api)}`,
    `  User       SERVICEAPP`,
    `  Secret     ${bold(secret)}`,
    '',
    `  curl -u SERVICEAPP:${secret} -H 'Content-Type: application/json' -d '{}' ${api}/sessions`,
    '',
    '  Ctrl-C stops all processes.',
    '',
  ].join('\n')
}
