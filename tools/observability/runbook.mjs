import { ALERTS } from './rules.mjs'

const INTRODUCTION = `# Runbook

What each alert of [deploy/observability](../deploy/observability/README.md) means and what to do. [metrics.md](metrics.md) explains the metrics, [operations.md](operations.md) the behaviour behind them. A \`critical\` alert concerns participants or recordings now; a \`warning\` can wait for working hours. Certificates of proxies are not covered: monitor them where they are renewed.

This page is generated from \`tools/observability/alerts\`.
`

const code = (text) => `\`\`\`promql\n${text}\n\`\`\``

/** The series that an alert shows belong to a process, to a queue or to the whole cluster. */
function entry({ name, expr, for: duration, severity, summary, meaning, look, act }) {
  const title = summary
    .replaceAll('{{ $labels.instance }}', 'the instance')
    .replaceAll('the queue `{{ $labels.queue }}`', 'a queue')
  return [
    `## ${name}`,
    `${title[0].toUpperCase()}${title.slice(1)} (${severity}${duration ? `, for ${duration}` : ''}).`,
    code(expr.replaceAll('TARGETS', 'job=~"session-service-(master|media-node)"')),
    `**Meaning.** ${meaning}`,
    `**Look at.** ${look}`,
    `**Do.** ${act}`,
  ].join('\n\n')
}

export const runbookPage = () => `${[INTRODUCTION.trim(), ...ALERTS.map(entry)].join('\n\n')}\n`
